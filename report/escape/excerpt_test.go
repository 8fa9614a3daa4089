package escape

import (
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	for _, test := range []struct {
		source    string
		truncated bool
		limit     int
		want      string
	}{
		{"", false, 20, ""},
		{"\n\n x = 1\n\n\ty = 2 \r\n", false, 0, " x = 1 ⏎ y = 2"},
		{"x = 1\ny = 2", false, 8, "x = 1 ⏎…"},
		{"x = 1", true, 0, "x = 1 …"},
		{"!echo \x1b[31m", false, 0, `!echo \x1b[31m`},
	} {
		if got := OneLine(test.source, test.truncated, test.limit); got != test.want {
			t.Errorf("OneLine(%q) = %q, want %q", test.source, got, test.want)
		}
	}
	if got := OneLine(strings.Repeat("x = 1\n", 1<<16), false, 0); len(got) > 2*maxExcerpt {
		t.Errorf("an excerpt without limit has %d bytes", len(got))
	}
}

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

func TestLinesOfAnExcerpt(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		text      string
		truncated bool
		want      string
	}{
		{"", false, ""},
		{"a = 1\n\n  b = 2\n", false, "a = 1 ⏎ b = 2"},
		{"a = 1\nb = 2", true, "a = 1 ⏎ b = 2 ⏎ … more lines"},
		{"a = 1\n" + long + "\nb = 2", false, "a = 1 ⏎ … 2 more lines"},
		{long + "\nb = 2", false, long + " ⏎ … 1 more line"},
		{"a\x1b[31m\nb", false, `a\x1b[31m ⏎ b`},
		{
			"a = 1\n" + strings.Repeat("b = 2\n", 10000), false,
			"a = 1" + strings.Repeat(" ⏎ b = 2", 4) + " ⏎ … more lines",
		},
	} {
		if got := Lines(test.text, test.truncated, 40); got != test.want {
			t.Errorf("%.40q: %q, want %q", test.text, got, test.want)
		}
	}
	if got := Lines(strings.Repeat("x", 1<<20), false, 40); Cells(got) > maxFirstLine+20 {
		t.Errorf("%d cells of a text without a line feed", Cells(got))
	}
}

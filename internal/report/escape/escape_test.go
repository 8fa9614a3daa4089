package escape_test

import (
	"strings"
	"testing"

	"ipytracer/internal/hostile"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"x = '\\n'":             `x = '\n'`,
		"\x1b[31m":              `\x1b[31m`,
		"a\x00b\x7f":            `a\x00b\x7f`,
		"\u009b2J":              `\u009b2J`,
		"\xff\xfe":              `\xff\xfe`,
		"a\r\n\tb":              `a\r\n\tb`,
		"\u202egnp\u2066\u2069": `\u202egnp\u2066\u2069`,
		"a\u200bb\u200d\ufeff":  `a\u200bb\u200d\ufeff`,
		"\u3164\u115f\u2028":    `\u3164\u115f\u2028`,
		"\U000e0041":            `\U000e0041`,
		"naïve 日本語 🙂 한국어 עברית": "naïve 日本語 🙂 한국어 עברית",
		"e\u0301": "e\u0301",
		"\ufffd":  "\ufffd",
	} {
		if got := escape.Text(in); got != want {
			t.Errorf("escape.Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCutAndCells(t *testing.T) {
	for _, test := range []struct {
		in    string
		limit int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"日本語", 5, "日本…"}, {"日本語", 6, "日本語"}, {"日本語", 4, "日…"},
		{"ab cd", 4, "ab…"}, {"anything", 0, "anything"}, {"ab", 1, "…"},
		{strings.Repeat("e\u0301", 3), 3, strings.Repeat("e\u0301", 3)},
	} {
		got := escape.Cut(test.in, test.limit)
		if got != test.want || test.limit > 0 && escape.Cells(got) > test.limit {
			t.Errorf("escape.Cut(%q, %d) = %q, want %q", test.in, test.limit, got, test.want)
		}
	}
	if got := escape.Bounded(strings.Repeat("\x1b", 1<<20), 10); escape.Cells(got) > 10 {
		t.Errorf("bounded gave %d cells", escape.Cells(got))
	}
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "\x1b[31m\x00\x7f\u009b", "\u202e\u2066\u200b\ufeff", "\xff\xc2",
		"日本語 e\u0301\u0301\u0301\u0301\u0301\u0301", "⏎…≥",
	} {
		f.Add(seed, 10)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, s string, limit int) {
		for _, got := range []string{
			escape.Text(s), escape.OneLine(s, true, limit), escape.Bounded(s, limit), escape.OneLine(s, false, 0),
		} {
			reporttest.CheckSafe(t, got, "")
			if again := escape.Text(got); again != got {
				t.Errorf("Text is not stable: %q, then %q", got, again)
			}
		}
		if got := escape.Bounded(s, limit); limit > 0 && escape.Cells(got) > limit {
			t.Errorf("escape.Bounded(%q, %d) takes %d cells", s, limit, escape.Cells(got))
		}
	})
}

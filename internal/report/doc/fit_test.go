package doc

import (
	"strings"
	"testing"
)

// TestFitAnswers: answers that have room stay as they are; without it the longest takes a shorter form, then answers of
// one form are cut behind their second line, and at last all without code behind their first.
func TestFitAnswers(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60)) // five lines of 80 columns
	code := strings.Repeat("x", 100)                       // two
	for _, test := range []struct {
		name                string
		wanted, most, width int
		one, two            string // answers, as they begin and end
		lines               int
	}{
		{"all have room", 12, 12, 80, "word word", "word word", 12},
		{"the last of the longest is shorter", 8, 12, 80, "word word", "short short", 8},
		{"a cut behind the second line", 5, 12, 80, "word …", "short short", 5},
		{"a cut behind the first line", 5, 4, 80, "word …", "short short", 4},
		{"a narrow terminal has more lines", 12, 12, 60, "word word", "word word", 16},
		{"no width", 1, 1, 0, "word word", "word word", 0},
	} {
		d := &Document{}
		d.Answer("before", long)
		from := d.Len()
		d.Answer("one", long)
		d.AnswerIn("two", Form{Text: long}, Form{Text: "not " + long}, Form{Text: "short short"})
		d.Answer("code", code, code)
		if got := d.FitAnswers(Size{Width: test.width}, from, test.wanted, test.most); got != test.lines {
			t.Errorf("%s: %d lines, want %d", test.name, got, test.lines)
		}
		for i, want := range []string{"word word", test.one, test.two, code} {
			begin, end, _ := strings.Cut(want, " ")
			if got := d.Answers()[i].Text; !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end) {
				t.Errorf("%s: %q, want %q", test.name, got, want)
			}
		}
	}
}

// TestAnswerWithoutCode: an answer's last form, which alone has no code, is taken only where everything else has been
// shortened.
func TestAnswerWithoutCode(t *testing.T) {
	code := strings.Repeat("x", 300)                       // four lines
	long := strings.TrimSpace(strings.Repeat("word ", 30)) // two
	for most, want := range map[int]string{12: "x", 5: "x", 4: "by code", 1: "by code"} {
		d := &Document{}
		d.Answer("one", long)
		d.AnswerIn("two", Form{Text: code + " " + code, Code: []string{code}}, Form{Text: code, Code: []string{code}},
			Form{Text: "by code"})
		taken := d.FitAnswers(Size{Width: 80}, 0, most, most)
		if two := d.Answers()[1].Text; !strings.HasPrefix(two, want) {
			t.Errorf("at most %d lines: %d: %q", most, taken, two)
		}
	}
}

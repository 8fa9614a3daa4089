package main

import (
	"strings"
	"testing"

	"ipytracer/internal/words"
)

// TestExplain: a word of a report is explained with its page, whatever its case and however it is typed; without one
// all are. A word that no report has is wrong usage, with the words that are most like it.
func TestExplain(t *testing.T) {
	explain := func(args ...string) (int, string, string) {
		var out, err strings.Builder
		status := run(append([]string{"explain"}, args...), strings.NewReader(""), &out, &err)
		return status, out.String(), err.String()
	}
	for _, args := range [][]string{
		{"still", "there"}, {"Still there:"}, {"cpu.mapped"}, {"GPU 3 driver"}, {"In[12]"}, {"≥"}, {"need"},
	} {
		term, known := words.Explain(strings.Join(args, " "))
		status, out, _ := explain(args...)
		plain := strings.Join(strings.Fields(out), " ")
		if !known || status != 0 || !strings.Contains(plain, term.Text) || !strings.Contains(plain, "docs/"+term.Page) {
			t.Errorf("%q: status %d:\n%s", args, status, out)
		}
	}
	status, out, _ := explain()
	for _, term := range words.Terms() {
		if status != 0 || !strings.Contains(out, "\n"+term.Names[0]+" ") {
			t.Errorf("status %d, %q is not in:\n%s", status, term.Names[0], out)
		}
	}
	for word, want := range map[string]string{
		"peek":                "tracer: no report has the word 'peek'; similar ones are: peak",
		"xyzzy\x1b[31m\u202e": "tracer: no report has the word 'xyzzy\\x1b[31m\\u202e'; 'tracer explain' lists all\n",
	} {
		status, out, err := explain(word)
		if status != 2 || out != "" || !strings.HasPrefix(err, want) || strings.Count(err, "\n") != 1 {
			t.Errorf("%q: status %d, %q, %q, want %q", word, status, out, err, want)
		}
	}
}

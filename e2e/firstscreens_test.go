package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These differ between two runs of a notebook: sizes, shares, the number of calls that a library makes and their
// packages, and lines that came a little later.
var varies = []struct {
	found *regexp.Regexp
	as    string
}{
	{regexp.MustCompile(`(?:[≈≥~] ?)?[\d.,]+ of [\d.,]+ [KMGT]?i?B\b`), "N of N"},
	{regexp.MustCompile(`(?:[≈≥~] ?)?[\d.,]+ [KMGT]?i?B\b`), "N"},
	{regexp.MustCompile(`\(<?\d+ %\)`), "(N %)"},
	{regexp.MustCompile(` \(N of it came later\)`), ""},
	{regexp.MustCompile(` … \d+( to \d+)? calls?( in \w+(, \w+)*)?`), ""},
	{regexp.MustCompile(`up to N`), "N"},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// firstLines returns the lines that answer a question, by the question, without parts that differ between two runs.
func firstLines(report string) map[string]string {
	first, _, _ := strings.Cut(report, "\n\n")
	for _, v := range varies {
		first = v.found.ReplaceAllString(first, v.as)
	}
	of := map[string]string{}
	for line := range strings.SplitSeq(first, "\n") {
		if len(line) > 13 {
			of[strings.TrimSpace(line[:13])] = strings.TrimSpace(line[13:])
		}
	}
	return of
}

// stored are the questions with compared answers. The certainty depends on the load of the machine.
var stored = []string{"highest", "made by", "still there", "to free it"}

// checkFirstScreen checks that the first lines of a report have the facts that a reader needs: a cell and a line,
// memory that was there, memory that is left and code that frees it, and the certainty. It compares them with those in
// testdata/firstscreens. "highest" and "to free it" may have an alternative there, after " or ": where two cells, or an
// entry and the bound of entries, differ by less than noise.
func checkFirstScreen(t *testing.T, names []string, s notebookSession) {
	t.Helper()
	out, err := exec.Command(binary, "report", s.recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	first := firstLines(string(out))
	for question, want := range map[string]string{
		"highest": `^N of N resident \(N %\) in In\[\d+\], (line \d+|display and hooks)`, "made by": `N .*In\[\d+\]`,
		"still there": `^N after the last cell`,
		"to free it":  `.`, "how sure": `.`,
	} {
		if !regexp.MustCompile(want).MatchString(first[question]) {
			t.Errorf("%s: %q, want %q", question, first[question], want)
		}
	}
	for _, question := range stored {
		for _, unwanted := range []string{"linecache", "pydoc", "not known", "no cell"} {
			if strings.Contains(first[question], unwanted) {
				t.Errorf("%s: %q is in %q", question, unwanted, first[question])
			}
		}
	}
	path := filepath.Join("..", "testdata", "firstscreens", strings.Join(names, "+")+".txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		writeFirstScreen(t, path, first)
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := firstLines(string(data))
	if !slices.Contains(strings.Split(want["highest"], " or "), first["highest"]) {
		t.Errorf("highest: %q, want %q", first["highest"], want["highest"])
	}
	if !slices.ContainsFunc(strings.Split(want["to free it"], " or "),
		func(one string) bool { return letsGoOfTheSame(first["to free it"], one) }) {
		t.Errorf("to free it: %q, want %q (UPDATE_GOLDEN=1 writes %s)", first["to free it"], want["to free it"], path)
	}
	for _, question := range stored[1:3] {
		// Parts of almost the same size may come in another order, or be missing.
		if got := parts(first[question]); alike(got, parts(want[question]))*2 < len(got) {
			t.Errorf("%s: %q, want %q (UPDATE_GOLDEN=1 writes %s)", question, first[question], want[question], path)
		}
	}
}

// deleted finds the names that code deletes: those of a del, and those in quotes.
var deleted = regexp.MustCompile(`\bdel ((?:\w+, )*\w+)|'(_\d+)'|%xdel (\w+)`)

// letsGoOfTheSame reports whether two answers delete mostly the same names. Garbage that the collector has not found
// yet, and small entries, differ from run to run. If one has no names, the other must have none.
func letsGoOfTheSame(got, want string) bool {
	names := func(answer string) (out []string) {
		for _, m := range deleted.FindAllStringSubmatch(answer, -1) {
			out = append(out, strings.Split(m[1]+m[2]+m[3], ", ")...)
		}
		return out
	}
	a, b := names(got), names(want)
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return 2*alike(a, b) >= min(len(a), len(b))
}

func writeFirstScreen(t *testing.T, path string, first map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, question := range stored {
		b.WriteString(question + strings.Repeat(" ", 13-len(question)) + first[question] + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// parts returns the parts of an answer, in order.
func parts(answer string) []string {
	return strings.FieldsFunc(answer, func(r rune) bool { return strings.ContainsRune("·,;:", r) })
}

// alike counts the parts of one answer that are in another.
func alike(all, others []string) (n int) {
	trimmed := func(all []string) (out []string) {
		for _, s := range all {
			out = append(out, strings.TrimSpace(s))
		}
		return out
	}
	of := trimmed(others)
	for _, s := range trimmed(all) {
		if slices.Contains(of, s) {
			n++
		}
	}
	return n
}

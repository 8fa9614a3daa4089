package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ipytracer/model"
)

// varies are the parts of a report that differ between two runs of a notebook, and what replaces them: sizes, shares,
// the calls within a library, and how much of the memory came later.
var varies = []struct {
	part        *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`(?:[≈≥~] ?)?[\d.,]+ of [\d.,]+ [KMGT]?i?B\b`), "N of N"},
	{regexp.MustCompile(`(?:[≈≥~] ?)?[\d.,]+ [KMGT]?i?B\b`), "N"},
	{regexp.MustCompile(`\(<?\d+ %\)`), "(N %)"},
	{regexp.MustCompile(` \(N of it came later\)`), ""},
	{regexp.MustCompile(` … \d+( to \d+)? calls?( in \w+(, \w+)*)?`), ""},
	{regexp.MustCompile(`up to N`), "N"},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// answerColumn is the column of the answers in the first lines of a report.
const answerColumn = 13

// firstLines returns the first lines of a report, by their question, without the parts that differ between two runs.
func firstLines(report string) map[string]string {
	first, _, _ := strings.Cut(report, "\n\n")
	for _, v := range varies {
		first = v.part.ReplaceAllString(first, v.replacement)
	}
	answers := map[string]string{}
	for line := range strings.SplitSeq(first, "\n") {
		if len(line) > answerColumn {
			answers[strings.TrimSpace(line[:answerColumn])] = strings.TrimSpace(line[answerColumn:])
		}
	}
	return answers
}

// stored are the questions whose answers are compared. "how sure" is not, because it depends on the machine's load.
var stored = []string{"highest", "made by", "still there", "to free it"}

// checkFirstScreen checks that the first lines of a report have the facts that a reader needs: a cell and a line, the
// memory that was there, the memory that is left, the code that frees it, and how sure that is. It compares the lines
// with testdata/firstscreens. There "highest" and "to free it" may have two answers, with " or " between them, if two
// cells, or two entries, differ by less than noise.
func checkFirstScreen(t *testing.T, names []string, s notebookSession) {
	t.Helper()
	out, err := exec.Command(binary, "report", s.recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	checkFits(t, s.recording)
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
		func(answer string) bool { return deletesSameNames(first["to free it"], answer) }) {
		t.Errorf("to free it: %q, want %q (UPDATE_GOLDEN=1 writes %s)", first["to free it"], want["to free it"], path)
	}
	for _, question := range stored[1:3] {
		// parts of almost the same size may come in another order, or be missing
		if got := parts(first[question]); countIn(got, parts(want[question]))*2 < len(got) {
			t.Errorf("%s: %q, want %q (UPDATE_GOLDEN=1 writes %s)", question, first[question], want[question], path)
		}
	}
}

// checkFits checks that the first lines take at most 12 lines of a terminal with 80 columns, and that each begins with
// its answer.
func checkFits(t *testing.T, recording string) {
	t.Helper()
	cmd := exec.Command(binary, "report", recording)
	cmd.Env = append(os.Environ(), "COLUMNS=80")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n\n")
	taken := 0
	for line := range strings.SplitSeq(first, "\n") {
		taken += (len([]rune(line)) + 79) / 80
		if len(line) <= answerColumn || line[answerColumn] == ' ' {
			t.Errorf("a line without an answer: %q", line)
		}
	}
	if taken > 12 {
		t.Errorf("%d lines of 80 columns:\n%s", taken, first)
	}
}

// deleted matches the names that code deletes, with del, %xdel or as outputs.
var deleted = regexp.MustCompile(`\bdel ((?:\w+, )*\w+)|'(_\d+)'|%xdel (\w+)`)

// deletesSameNames reports whether two answers delete mostly the same names. Garbage that the collector has not found
// yet, and small entries, differ from run to run. If one has no names, the other must have none.
func deletesSameNames(got, want string) bool {
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
	return 2*countIn(a, b) >= min(len(a), len(b))
}

// writeFirstScreen writes the answers of stored questions to a file of testdata/firstscreens.
func writeFirstScreen(t *testing.T, path string, first map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, question := range stored {
		b.WriteString(question + strings.Repeat(" ", answerColumn-len(question)) + first[question] + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// parts returns the parts of an answer, in order.
func parts(answer string) []string {
	return strings.FieldsFunc(answer, func(r rune) bool { return strings.ContainsRune("·,;:", r) })
}

// countIn returns how many of some texts are in others, without the space around each.
func countIn(texts, others []string) (count int) {
	trimmed := func(texts []string) (out []string) {
		for _, s := range texts {
			out = append(out, strings.TrimSpace(s))
		}
		return out
	}
	found := trimmed(others)
	for _, s := range trimmed(texts) {
		if slices.Contains(found, s) {
			count++
		}
	}
	return count
}

// origins counts reports by how much of the memory at their highest moment has an origin.
type origins struct {
	mu         sync.Mutex
	all, known int
}

// add counts a report. It logs the share of its memory that a line of code allocated or touched first, or that is of
// other processes, of all that came since the attach.
func (o *origins) add(t *testing.T, r *model.Report) {
	t.Helper()
	for _, a := range r.Accounts {
		if a.At != model.AtHighest {
			continue
		}
		since, named := a.Bytes, int64(0)
		for _, p := range a.Parts {
			switch p.Kind {
			case model.PartBefore:
				since -= p.Bytes
			case model.PartLine, model.PartLines, model.PartChildren:
				named += p.Bytes
			}
		}
		t.Logf("%d %% of %d bytes since the attach have a line or a process", 100*named/max(since, 1), since)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all++
		if 10*named >= 9*since {
			o.known++
		}
	}
}

// check checks that six of seven reports name the origin of nine tenths of their memory.
func (o *origins) check(t *testing.T) {
	t.Helper()
	t.Logf("the origin of 90 %% is known in %d of %d", o.known, o.all)
	if 7*o.known < 6*o.all || o.all == 0 {
		t.Errorf("the origin of 90 %% is known in %d of %d reports only", o.known, o.all)
	}
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

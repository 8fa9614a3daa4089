package words

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// ReportTerms returns the explanations of the words of reports, those of the first lines first.
func ReportTerms() []Term { return slices.Clone(terms) }

// Terms returns all explanations: those of reports, then those of other documents.
func Terms() []Term { return slices.Concat(terms, ofDocuments) }

// number matches what differs in names of cells and GPUs.
var number = regexp.MustCompile(`\[\d+\]|\bgpu \d+ ?`)

// comparedRuns matches what a column of a comparison adds to the name of its figure: "need A", "time A → B".
var comparedRuns = regexp.MustCompile(` a( → b)?$`)

// asCompared returns a word as it is compared: without case, numbers, the punctuation of a column, and the parts of a
// meter's id.
func asCompared(word string) string {
	word = strings.ToLower(strings.Join(strings.Fields(Meter(strings.ToLower(word))), " "))
	word = number.ReplaceAllStringFunc(word, func(found string) string {
		if strings.HasPrefix(found, "[") {
			return "[n]"
		}
		return ""
	})
	return strings.TrimRight(comparedRuns.ReplaceAllString(strings.TrimSpace(word), ""), ":…")
}

// Explain returns the explanation of a word as it is printed, or of a meter's id. known is false for a word that no
// report has.
func Explain(word string) (term Term, known bool) {
	wanted := asCompared(word)
	if wanted == "" && strings.TrimSpace(word) != "" {
		wanted = "gpu" // a column that is one GPU's
	}
	for _, t := range Terms() {
		if slices.ContainsFunc(t.Names, func(name string) bool { return wanted == strings.ToLower(name) }) {
			return t, true
		}
	}
	return Term{}, false
}

// Meaning returns the sentences about a word of a report; "" for a word that none has.
func Meaning(word string) string {
	term, _ := Explain(word)
	return term.Text
}

// Similar returns at most three names that are most like a word which no report has, the most similar first.
func Similar(word string) []string {
	type near struct {
		name     string
		distance int
	}
	var all []near
	wanted := asCompared(Bounded(word, longestWord))
	for _, t := range Terms() {
		for _, name := range t.Names {
			distance := edits(wanted, strings.ToLower(name))
			if wanted != "" && strings.Contains(strings.ToLower(name), wanted) {
				distance = min(distance, 1)
			}
			if distance <= max(2, len(wanted)/3) {
				all = append(all, near{name, distance})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, n := range all[:min(len(all), 3)] {
		names = append(names, n.name)
	}
	return names
}

// longestWord is the length of what is compared with names, in characters.
const longestWord = 40

// edits returns the least number of characters to insert, delete or replace that make one text of another.
func edits(from, to string) int {
	a, b := []rune(from), []rune(to)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

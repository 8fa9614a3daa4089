package doc

import (
	"strings"

	"ipytracer/internal/report/escape"
)

// answerColumn is the column of the text in the first lines.
const answerColumn = 13

// answer writes one of the first lines, wrapped at the width. Code in it, which people paste, stays in one piece.
func (p *printer) answer(a firstLine) {
	name := []Span{Dim(escape.Pad(a.Question, answerColumn-1, false))}
	words := append([][]Span{name}, wordsAround(a.Text, a.code)...)
	p.wrap(strings.Repeat(" ", answerColumn), withUnits(words))
	p.blank()
}

// wordsAround returns the words of a text; each code in it is one word. Code may begin with other code.
func wordsAround(text string, code []string) [][]Span {
	at, first := len(text), ""
	for _, c := range code {
		if i := strings.Index(text, c); c != "" && i >= 0 && (i < at || i == at && len(c) > len(first)) {
			at, first = i, c
		}
	}
	if first == "" {
		return splitWords([]Span{Plain(text)})
	}
	var words [][]Span
	if before := strings.TrimSuffix(text[:at], " "); before != "" {
		words = splitWords([]Span{Plain(before)})
	}
	words = append(words, []Span{Plain(escape.Text(first))})
	if after := text[at+len(first):]; after != "" {
		words = append(words, wordsAround(strings.TrimPrefix(after, " "), code)...)
	}
	return words
}

// withUnits makes one word of a number and the unit behind it.
func withUnits(all [][]Span) (out [][]Span) {
	for _, word := range all {
		last := len(out) - 1
		if last > 0 && len(word) == 1 && len(out[last]) == 1 && isUnit(word[0].Text) &&
			strings.ContainsAny(out[last][0].Text, "0123456789") {
			out[last] = []Span{In(word[0].Style, out[last][0].Text+" "+word[0].Text)}
			continue
		}
		out = append(out, word)
	}
	return out
}

func isUnit(word string) bool {
	switch strings.TrimRight(word, ".,;:)") {
	case "B", "KiB", "MiB", "GiB", "TiB", "%":
		return true
	}
	return false
}

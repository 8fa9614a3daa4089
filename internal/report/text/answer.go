package text

import (
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// answerColumn is the column of the text in the first lines.
const answerColumn = 13

// answer writes one of the first lines, wrapped at the width. Code in it, which people paste, stays in one piece.
func (p *printer) answer(name string, text string, code ...string) {
	if p.answers != nil {
		p.answers(name, text)
		return
	}
	words := append([][]span{{{escape.Pad(name, answerColumn-1, false), dim}}}, wordsAround(text, code)...)
	p.wrap(strings.Repeat(" ", answerColumn), withUnits(words))
	p.blank()
}

// withCode is prose with code between two texts: the code is one word, and so stands whole on a line of its own where
// it does not fit behind the text before it.
func (p *printer) withCode(indent string, before []span, code string, after ...span) {
	words := append(splitWords(before), []span{{escape.Text(code), plain}})
	if after = slices.DeleteFunc(after, func(s span) bool { return s.text == "" }); len(after) > 0 {
		words = append(words, splitWords(after)...)
	}
	p.wrap(indent, words)
	p.blank()
}

// wordsAround returns the words of a text; each code in it is one word. Code may begin with other code.
func wordsAround(text string, code []string) [][]span {
	at, first := len(text), ""
	for _, c := range code {
		if i := strings.Index(text, c); c != "" && i >= 0 && (i < at || i == at && len(c) > len(first)) {
			at, first = i, c
		}
	}
	if first == "" {
		return splitWords([]span{{text, plain}})
	}
	var words [][]span
	if before := strings.TrimSuffix(text[:at], " "); before != "" {
		words = splitWords([]span{{before, plain}})
	}
	words = append(words, []span{{escape.Text(first), plain}})
	if after := text[at+len(first):]; after != "" {
		words = append(words, wordsAround(strings.TrimPrefix(after, " "), code)...)
	}
	return words
}

// withUnits makes one word of a number and the unit behind it.
func withUnits(all [][]span) (out [][]span) {
	for _, word := range all {
		last := len(out) - 1
		if last > 0 && len(word) == 1 && len(out[last]) == 1 && isUnit(word[0].text) &&
			strings.ContainsAny(out[last][0].text, "0123456789") {
			out[last] = []span{{out[last][0].text + " " + word[0].text, word[0].style}}
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

package text

import (
	"strings"

	"ipytracer/report/escape"
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

// wordsAround returns the words of a text; each code in it is one word.
func wordsAround(text string, code []string) [][]span {
	for _, c := range code {
		if before, after, found := strings.Cut(text, c); found && c != "" {
			var words [][]span
			if before = strings.TrimSuffix(before, " "); before != "" {
				words = splitWords([]span{{before, plain}})
			}
			words = append(words, []span{{escape.Text(c), plain}})
			if after != "" {
				words = append(words, wordsAround(strings.TrimPrefix(after, " "), code)...)
			}
			return words
		}
	}
	return splitWords([]span{{text, plain}})
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

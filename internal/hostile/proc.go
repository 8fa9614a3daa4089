package hostile

import (
	"iter"
	"strings"
)

// Lines yields texts of about size bytes for readers of files in /proc, made from an ordinary line of such a file: the
// line many times, the line with one word grown to that size or left out, and texts of one character.
func Lines(size int, line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		texts := []string{
			strings.Repeat(line+"\n", size/(len(line)+1)), strings.Repeat("\n", size), strings.Repeat("\x00", size),
			strings.Repeat(" ", size), strings.Repeat("9", size),
		}
		for _, text := range texts {
			if !yield(text) {
				return
			}
		}
		words := strings.Fields(line)
		for i, word := range words {
			before, after := strings.Join(words[:i], " "), strings.Join(words[i+1:], " ")
			unit := word[len(word)-1:]
			grown := word + strings.Repeat(unit, max(0, size-len(line)))
			if !yield(before+" "+grown+" "+after+"\n") || !yield(before+" "+after+"\n") {
				return
			}
		}
	}
}

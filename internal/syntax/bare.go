package syntax

import "strings"

// Bare returns the text of a statement without white space, comments and the breaks of its lines, so that the texts of
// two statements which say the same are equal. A text that is no Python stays as it is.
func Bare(text string) (bare string) {
	if len(text) > maxSource {
		return text
	}
	l := newLexer(text, lineStarts(text), 0, len(text), 1)
	var err error
	func() {
		defer caught(&err)
		l.run()
	}()
	if err != nil {
		return text
	}
	var b strings.Builder
	for _, t := range l.tokens {
		switch t.kind {
		case kindEnd, kindNewline, kindIndent, kindDedent:
		default:
			b.WriteString(text[t.start:t.end])
			b.WriteByte(' ')
		}
	}
	return b.String()
}

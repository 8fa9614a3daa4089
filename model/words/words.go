// Package words is the text beside ipytracer's figures: sizes and times, why a figure is not exact, the evidence and
// the advice of a verdict. Whatever makes a sentence out of facts belongs here, once, so that text, JSON and the
// live lines say the same; deciding what the facts are does not, and neither does how a page is laid out.
package words

import "strconv"

// Bounded is a text of at most so many characters; an ellipsis stands for the rest.
func Bounded(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

// Times is "once" or "3 times".
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

// Join is what is said of one thing, and what else is: the empty text says nothing.
func Join(said, also string) string {
	if said == "" || also == "" {
		return said + also
	}
	return said + "; " + also
}

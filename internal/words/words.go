// Package words is the text beside ipytracer's figures. It has sizes and times, the reason why a figure is not exact,
// the evidence and the advice of a verdict. Every sentence that is made from facts belongs here, once, so that text,
// JSON and the live lines agree. It does not decide the facts, and it lays out no page.
package words

import (
	"slices"
	"strconv"
	"strings"
)

// Bounded cuts a text to limit characters, and puts an ellipsis behind a text that it cut.
func Bounded(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}

// Times returns "once" or "3 times".
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

// Join joins the remarks that are not empty by semicolons. It overwrites a slice that is passed as remarks.
func Join(remarks ...string) string {
	return strings.Join(slices.DeleteFunc(remarks, func(text string) bool { return text == "" }), "; ")
}

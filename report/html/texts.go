package html

import "ipytracer/report/escape"

// Bounds of the texts in a page, in bytes.
const (
	longestSource = 64 << 10
	longestName   = 400
	allSources    = 6 << 20
)

// texts are the texts of a page, each once, in a form that shows every character: what cannot be seen or turns the direction of writing is
// an escape such as \u202e.
type texts struct {
	all  []string
	at   map[string]int
	size int
}

func newTexts() *texts { return &texts{all: []string{""}, at: map[string]int{"": 0}} }

// name is the place of a short text.
func (t *texts) name(s string) int { return t.place(shown(s)) }

// source is the place of the text of a cell, and whether some of it had no room.
func (t *texts) source(s string) (at int, cut bool) {
	room := min(longestSource, allSources-t.size)
	if len(s) > room {
		s, cut = escape.Prefix(s, max(0, room)), true
	}
	return t.place(escape.But(s, "\n\t")), cut
}

func (t *texts) place(s string) int {
	at, known := t.at[s]
	if !known {
		at = len(t.all)
		t.at[s] = at
		t.all = append(t.all, s)
		t.size += len(s)
	}
	return at
}

// shown is a short text of the target's as it is shown.
func shown(s string) string {
	if len(s) > longestName {
		s = escape.Prefix(s, longestName) + "…"
	}
	return escape.But(s, "")
}

// shownAll are texts as they are shown.
func shownAll(all []string) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, shown(s))
	}
	return out
}

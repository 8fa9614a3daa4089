package html

import "ipytracer/internal/report/escape"

// Bounds of the texts in a page, in bytes.
const (
	longestSource = 64 << 10
	longestName   = 400
	allSources    = 6 << 20
	sourcesAtOnce = 256 << 10 // a browser reads this many without a pause
)

// texts are the texts of a page, each once, in a form that shows every character. An invisible character, or one that
// turns the direction of writing, is an escape such as \u202e.
type texts struct {
	all []string
	at  map[string]int
}

func newTexts() *texts { return &texts{all: []string{""}, at: map[string]int{"": 0}} }

// name returns the place of a short text.
func (t *texts) name(s string) int { return t.place(shown(s)) }

func (t *texts) place(s string) int {
	at, known := t.at[s]
	if !known {
		at = len(t.all)
		t.at[s] = at
		t.all = append(t.all, s)
	}
	return at
}

// tableOfSources has the texts of cells, each once.
type tableOfSources struct {
	all   []string
	at    map[string]int
	early map[int]bool // of cells that are drawn first
	size  int
}

func newSources() *tableOfSources {
	return &tableOfSources{all: []string{""}, at: map[string]int{"": 0}, early: map[int]bool{}}
}

// add returns the place of the text of a cell, and whether some of it had no room.
func (t *tableOfSources) add(s string, early bool) (at int, cut bool) {
	room := min(longestSource, allSources-t.size)
	if len(s) > room {
		s, cut = escape.Prefix(s, max(0, room)), true
	}
	s = escape.But(s, "\n\t")
	at, known := t.at[s]
	if !known {
		at = len(t.all)
		t.at[s] = at
		t.all = append(t.all, s)
		t.size += len(s)
	}
	if early {
		t.early[at] = true
	}
	return at, cut
}

// parts returns the sources in the parts of the page, those that are drawn first in the first part.
func (t *tableOfSources) parts() ([]sources, error) {
	out, size := []sources{}, 0
	var one ints
	var some []string
	put := func() error {
		if len(one) == 0 {
			return nil
		}
		data, err := deflated(some)
		out = append(out, sources{one, data})
		one, some, size = nil, nil, 0
		return err
	}
	for _, early := range [...]bool{true, false} {
		for at, s := range t.all[1:] {
			if t.early[at+1] != early {
				continue
			}
			one, some = append(one, at+1), append(some, s)
			if size += len(s); size >= sourcesAtOnce {
				if err := put(); err != nil {
					return nil, err
				}
			}
		}
		if err := put(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// shown returns a short text of the target as the page shows it: escaped, and cut if it is too long.
func shown(s string) string {
	if len(s) > longestName {
		s = escape.Prefix(s, longestName) + "…"
	}
	return escape.Text(s)
}

// typed returns code to paste, escaped but for the ends of its lines; nothing if the code is too long.
func typed(code string) string {
	const longest = 4 << 10
	if len(code) > longest {
		return ""
	}
	return escape.But(code, "\n")
}

// shownAll returns short texts as the page shows them.
func shownAll(all []string) []string {
	out := make([]string, 0, len(all))
	for _, s := range all {
		out = append(out, shown(s))
	}
	return out
}

package html

import "ipytracer/internal/report/escape"

// Bounds of the texts in a page, in bytes.
const (
	longestSource = 64 << 10
	longestName   = 400
	allSources    = 6 << 20
	sourcesAtOnce = 256 << 10 // of one part: a browser reads so much without a pause
)

// texts is the table of a page's texts. It has each text once, escaped: an invisible character, or one that turns the
// direction of writing, is written as \u202e.
type texts struct {
	all []string
	at  map[string]int // places in all
}

func newTexts() *texts { return &texts{all: []string{""}, at: map[string]int{"": 0}} }

// name returns the place of a short text of the target. It adds the text if the table does not have it.
func (t *texts) name(s string) int { return t.place(shown(s)) }

// place returns the place of an escaped text. It adds the text if the table does not have it.
func (t *texts) place(s string) int {
	at, known := t.at[s]
	if !known {
		at = len(t.all)
		t.at[s] = at
		t.all = append(t.all, s)
	}
	return at
}

// tableOfSources has the sources of cells, each once, escaped.
type tableOfSources struct {
	all   []string
	at    map[string]int // places in all
	early map[int]bool   // places of the sources that the page draws first
	size  int            // bytes of all sources
}

func newSources() *tableOfSources {
	return &tableOfSources{all: []string{""}, at: map[string]int{"": 0}, early: map[int]bool{}}
}

// add adds a cell's source, and returns its place. cut says that some of the source had no room, early that the page
// draws it first.
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

// parts returns the sources in parts of about sourcesAtOnce bytes. The sources that the page draws first are in the
// first parts.
func (t *tableOfSources) parts() ([]sources, error) {
	out, size := []sources{}, 0
	var places ints
	var part []string
	endPart := func() error {
		if len(places) == 0 {
			return nil
		}
		data, err := deflated(part)
		out = append(out, sources{places, data})
		places, part, size = nil, nil, 0
		return err
	}
	for _, early := range [...]bool{true, false} {
		for place, s := range t.all {
			if place == 0 || t.early[place] != early { // source 0 is empty
				continue
			}
			places, part = append(places, place), append(part, s)
			if size += len(s); size >= sourcesAtOnce {
				if err := endPart(); err != nil {
					return nil, err
				}
			}
		}
		if err := endPart(); err != nil {
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

// typed returns code to paste, escaped but for the ends of its lines; "" if the code is longer than 4 KiB.
func typed(code string) string {
	const longest = 4 << 10
	if len(code) > longest {
		return ""
	}
	return escape.But(code, "\n")
}

// shownAll returns short texts as the page shows them.
func shownAll(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, s := range texts {
		out = append(out, shown(s))
	}
	return out
}

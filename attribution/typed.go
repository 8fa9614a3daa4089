package attribution

import "strings"

// typed are the texts of cells that a [Monitor] has not handed out yet. Both of its bounds are in bytes.
type typed struct {
	most int // of one text
	all  int // of all together
	kept int
	by   map[uint32]string // by number
	last uint32
}

// keep adds a text, and returns its number, 0 where it has no room. whole is false if not all of it is kept.
func (t *typed) keep(text string) (number uint32, whole bool) {
	if whole = len(text) <= t.most; !whole {
		text = strings.ToValidUTF8(text[:t.most], "")
	}
	if text == "" || t.kept+len(text) > t.all {
		return 0, text == "" && whole
	}
	t.last++
	t.by[t.last] = strings.Clone(text)
	t.kept += len(text)
	return t.last, whole
}

// retain drops all texts but those of some cells.
func (t *typed) retain(cells map[uint64]*window) {
	if len(t.by) == 0 {
		return
	}
	before := t.by
	t.by, t.kept = map[uint32]string{}, 0
	for _, w := range cells {
		if text := before[w.source]; text != "" {
			t.by[w.source] = text
			t.kept += len(text)
		}
	}
}

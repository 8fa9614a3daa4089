package attribution

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"

	"ipytracer/attribution/internal/stacks"
)

// texts are the texts of cells: each once, packed. A cell has the number of its text, 0 for none.
type texts struct {
	limits  *limits
	known   map[digest]uint32 // numbers
	digests []digest          // by number, from 1
	at      []uint64          // likewise, in archive
	archive Archive
	decoded uint32 // the number of the text that was read last
	text    string
	typed   *typed // of a [Monitor] that keeps sources, instead of all others
}

// digest stands for a text.
type digest [16]byte

func digestOf(text string) digest {
	sum := sha256.Sum256([]byte(text))
	return digest(sum[:16])
}

// textChunk is the amount of text that is packed at once: little, for texts are read here and there.
const textChunk = 16 << 10

func newTexts(l *limits) *texts {
	return &texts{limits: l, known: map[digest]uint32{}, archive: Archive{Chunk: textChunk}}
}

// add adds a text, and returns its number.
func (t *texts) add(text string) uint32 {
	if text == "" || len(t.at) >= math.MaxInt32 {
		return 0
	}
	key := digestOf(text)
	number, known := t.known[key]
	if !known {
		t.at = append(t.at, t.archive.Add(append(binary.AppendUvarint(nil, uint64(len(text))), text...)))
		t.digests = append(t.digests, key)
		number = uint32(len(t.at))
		t.known[key] = number
	}
	return number
}

// of returns a text by its number.
func (t *texts) of(number uint32) string {
	if t.typed != nil {
		return t.typed.by[number]
	}
	switch number {
	case 0:
		return ""
	case t.decoded:
		return t.text
	}
	packed := t.archive.Of(t.at[number-1])
	size, n := binary.Uvarint(packed)
	t.decoded, t.text = number, string(packed[n:][:size])
	return t.text
}

// keep adds a cell's text within the limits for one and for all, and returns its number. whole is false where it was
// cut.
func (t *texts) keep(text string) (number uint32, whole bool) {
	if t.typed != nil {
		return t.typed.keep(text)
	}
	l := t.limits
	if number, known := t.known[digestOf(text)]; known {
		return number, true
	}
	kept, whole := l.cut(text, maxSource)
	before := len(t.at)
	if number = t.add(kept); len(t.at) > before {
		l.kept += len(kept)
	}
	return number, whole
}

// sourceOf returns a cell's text, "" where it is not known.
func (t *texts) sourceOf(w *window) string { return t.of(w.source) }

// textOf returns the text that runs of the same cell have in common: its source, or without it the name of its code.
func (t *texts) textOf(cell *window) string {
	if cell.source != 0 {
		return t.sourceOf(cell)
	}
	return stacks.AnyRun(cell.file)
}

// keyOf returns the digest of textOf.
func (t *texts) keyOf(cell *window) digest {
	if cell.source != 0 {
		return t.digests[cell.source-1]
	}
	return digestOf(stacks.AnyRun(cell.file))
}

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

package windows

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"

	"ipytracer/attribution/internal/stacks"
)

// texts are the texts of cells, each kept once and compressed. A cell has the number of its text, 0 for none.
type texts struct {
	limits  *limits
	known   map[Digest]uint32 // the number of each text
	digests []Digest          // the digest of text number n is at n-1
	places  []uint64          // the place in archive of text number n is at n-1
	archive Archive
	decoded uint32       // the number of the text that was read last
	text    string       // that text
	Recent  *RecentTexts // the only texts of a [Monitor] that keeps sources; nil otherwise
}

// Digest stands for a text.
type Digest [16]byte

// DigestOf returns the digest of a text.
func DigestOf(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return Digest(sum[:16])
}

// textChunk is the number of bytes that are compressed at once. It is small, because texts are not read in their order.
const textChunk = 16 << 10

func newTexts(l *limits) *texts {
	return &texts{limits: l, known: map[Digest]uint32{}, archive: Archive{Chunk: textChunk}}
}

// add adds a text, and returns its number.
func (t *texts) add(text string) uint32 {
	if text == "" || len(t.places) >= math.MaxInt32 {
		return 0
	}
	key := DigestOf(text)
	number, known := t.known[key]
	if !known {
		t.places = append(t.places, t.archive.Add(append(binary.AppendUvarint(nil, uint64(len(text))), text...)))
		t.digests = append(t.digests, key)
		number = uint32(len(t.places))
		t.known[key] = number
	}
	return number
}

// of returns a text by its number.
func (t *texts) of(number uint32) string {
	if t.Recent != nil {
		return t.Recent.By[number]
	}
	switch number {
	case 0:
		return ""
	case t.decoded:
		return t.text
	}
	packed := t.archive.From(t.places[number-1])
	size, n := binary.Uvarint(packed)
	t.decoded, t.text = number, string(packed[n:][:size])
	return t.text
}

// Keep adds a cell's text within the limits for one text and for all, and returns its number. whole is false if the
// text was cut.
func (t *texts) Keep(text string) (number uint32, whole bool) {
	if t.Recent != nil {
		return t.Recent.keep(text)
	}
	l := t.limits
	if number, known := t.known[DigestOf(text)]; known {
		return number, true
	}
	kept, whole := l.cut(text, MaxSource)
	before := len(t.places)
	if number = t.add(kept); len(t.places) > before {
		l.Kept += len(kept)
	}
	return number, whole
}

// SourceOf returns a cell's text, "" where it is not known.
func (t *texts) SourceOf(w *Window) string { return t.of(w.Source) }

// TextOf returns the text that runs of the same cell have in common: its source, or without it the name of its code.
func (t *texts) TextOf(cell *Window) string {
	if cell.Source != 0 {
		return t.SourceOf(cell)
	}
	return stacks.AnyRun(cell.File)
}

// KeyOf returns the digest of [texts.TextOf].
func (t *texts) KeyOf(cell *Window) Digest {
	if cell.Source != 0 {
		return t.digests[cell.Source-1]
	}
	return DigestOf(stacks.AnyRun(cell.File))
}

// RecentTexts are the texts of cells that a [Monitor] has not handed out yet.
type RecentTexts struct {
	Most int               // bytes of one text
	All  int               // bytes of all texts together
	kept int               // bytes that are kept
	By   map[uint32]string // by number
	last uint32            // the last number that was given
}

// keep adds a text, and returns its number, 0 if there is no room. whole is false if not all of the text is kept.
func (t *RecentTexts) keep(text string) (number uint32, whole bool) {
	if whole = len(text) <= t.Most; !whole {
		text = strings.ToValidUTF8(text[:t.Most], "")
	}
	if text == "" || t.kept+len(text) > t.All {
		return 0, text == "" && whole
	}
	t.last++
	t.By[t.last] = strings.Clone(text)
	t.kept += len(text)
	return t.last, whole
}

// Retain drops all texts but those of some cells.
func (t *RecentTexts) Retain(cells map[uint64]*Window) {
	if len(t.By) == 0 {
		return
	}
	before := t.By
	t.By, t.kept = map[uint32]string{}, 0
	for _, w := range cells {
		if text := before[w.Source]; text != "" {
			t.By[w.Source] = text
			t.kept += len(text)
		}
	}
}

package windows

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/words"
)

// limits count the records that had no room. A target can make anything without end, and so can the author of a
// recording. Each of these counts leaves the report incomplete, and its certificate lists it.
type limits struct {
	words.LeftOut

	Open           int // see [Bounds]
	MostStatements int // maxStatements
	MostChildren   int // maxChildren

	Known map[string]string // texts that are kept
	Kept  int               // their bytes
	Brief bool              // memory is scarce
}

const (
	MaxReadings = 1 << 12 // of one boundary; also those that wait for one
	MaxAhead    = 1 << 16 // maxima of segments that have not ended
	MaxText     = 64 << 20
	MaxSource   = 2 << 20 // bytes of a cell's text: 512 KiB as they are in the target, in UTF-8
	MaxName     = 16 << 10
)

// Room counts a record that has no room.
func (l *limits) Room(counter *int, has bool) bool {
	if !has {
		*counter++
	}
	return has
}

// cut returns as much of a text as can be kept: no more than most bytes, within a bound on all texts together. whole is
// false where that is not the whole text.
func (l *limits) cut(text string, most int) (kept string, whole bool) {
	kept = text
	if l.Brief {
		most = min(most, maxBrief)
	}
	if whole = len(text) <= most; !whole {
		kept = strings.ToValidUTF8(text[:most], "")
	}
	if l.Kept+len(kept) > MaxText {
		kept, whole = "", text == ""
	}
	if !whole {
		l.Texts++
	}
	return kept, whole
}

// Keep returns a text from memory in which each text is kept once: no more than most bytes, within a bound on all texts
// together. whole is false where the text was cut.
func (l *limits) Keep(text string, most int) (kept string, whole bool) {
	if known, ok := l.Known[text]; ok {
		return known, true
	}
	kept, whole = l.cut(text, most)
	if known, ok := l.Known[kept]; ok {
		return known, whole
	}
	if l.Known == nil {
		l.Known = map[string]string{}
	}
	kept = strings.Clone(kept)
	l.Known[kept] = kept
	l.Kept += len(kept)
	return kept, whole
}

// Bounded returns the description of a process, with texts that are kept.
func (l *limits) Bounded(info event.ProcessInfo) event.ProcessInfo {
	for _, text := range []*string{&info.Command, &info.Python, &info.IPython, &info.Frontend, &info.Notebook} {
		*text, _ = l.Keep(*text, MaxName)
	}
	return info
}

// maxBrief limits a kept text once memory is scarce, in bytes.
const maxBrief = 1 << 10

// Horizon is the number of windows that must close after a window before it is archived. Events for it that come later
// are lost.
const Horizon = 128

// Lingering is the number of windows that take late changes after they closed: another CPU's may come behind the
// boundary.
const Lingering = 16

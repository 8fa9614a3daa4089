package windows

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/words"
)

// limits count the records that had no room: a target, and the author of a recording, can make any number of records. A
// count that is not 0 makes the report incomplete, and the certificate lists it.
type limits struct {
	words.LeftOut

	Open           int // see [Bounds]
	MostStatements int // maxStatements
	MostChildren   int // maxChildren

	Known map[string]string // each kept text, by itself
	Kept  int               // bytes of all kept texts
	Brief bool              // memory is scarce: see maxBrief
}

const (
	MaxReadings = 1 << 12  // readings of one boundary; also readings that wait for a boundary
	MaxAhead    = 1 << 16  // maxima of segments that have not ended
	MaxText     = 64 << 20 // bytes of all kept texts
	MaxSource   = 2 << 20  // bytes of a cell's text: 512 KiB as they are in the target, in UTF-8
	MaxName     = 16 << 10 // bytes of a name
)

// Room returns has. If it is false, Room counts a record that has no room.
func (l *limits) Room(counter *int, has bool) bool {
	if !has {
		*counter++
	}
	return has
}

// cut returns as much of a text as may be kept: at most most bytes, and nothing if all texts would exceed MaxText.
// whole is false if kept is not the whole text.
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

// Keep returns as much of a text as may be kept (see limits.cut), from memory in which each text is kept once. whole is
// false if kept is not the whole text.
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

// Bounded returns the description of a process with its texts replaced by kept ones.
func (l *limits) Bounded(info event.ProcessInfo) event.ProcessInfo {
	for _, text := range []*string{&info.Command, &info.Python, &info.IPython, &info.Frontend, &info.Notebook} {
		*text, _ = l.Keep(*text, MaxName)
	}
	return info
}

// maxBrief limits a kept text once memory is scarce, in bytes.
const maxBrief = 1 << 10

// Horizon is the number of windows that must close after a window before the window is archived. Events that arrive for
// an archived window are lost.
const Horizon = 128

// Lingering is the number of closed windows that still take late changes: changes of another CPU may arrive after the
// boundary.
const Lingering = 16

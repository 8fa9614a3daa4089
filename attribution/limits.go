package attribution

import (
	"strings"

	"ipytracer/event"
	"ipytracer/model/words"
)

// limits count what had no room. A target can make anything without end, and so can whoever made a recording; each of
// these leaves the report incomplete, and is said in its certificate.
type limits struct {
	words.LeftOut

	known map[string]string // texts that are kept
	kept  int               // their bytes
	brief bool              // memory is scarce
}

const (
	maxReadings = 1 << 12 // of one boundary; and that wait for one
	maxAhead    = 1 << 16 // maxima of segments that have not ended
	maxText     = 64 << 20
	maxSource   = 2 << 20 // bytes of a cell's text: 512 KiB as they are in the target, in UTF-8
	maxName     = 16 << 10
)

// room counts what has none.
func (l *limits) room(counter *int, has bool) bool {
	if !has {
		*counter++
	}
	return has
}

// cut is as much of a text as can be kept, none longer than most bytes, and all of them bounded. whole is false where
// that is not all of it.
func (l *limits) cut(text string, most int) (kept string, whole bool) {
	kept = text
	if l.brief {
		most = min(most, maxBrief)
	}
	if whole = len(text) <= most; !whole {
		kept = strings.ToValidUTF8(text[:most], "")
	}
	if l.kept+len(kept) > maxText {
		kept, whole = "", text == ""
	}
	if !whole {
		l.Texts++
	}
	return kept, whole
}

// keep is a text as it is kept: each once, none longer than most bytes, and all of them bounded. whole is false where
// it was cut.
func (l *limits) keep(text string, most int) (kept string, whole bool) {
	if known, ok := l.known[text]; ok {
		return known, true
	}
	kept, whole = l.cut(text, most)
	if known, ok := l.known[kept]; ok {
		return known, whole
	}
	if l.known == nil {
		l.known = map[string]string{}
	}
	kept = strings.Clone(kept)
	l.known[kept] = kept
	l.kept += len(kept)
	return kept, whole
}

// bounded is what is known of a process, with texts that are kept.
func (l *limits) bounded(info event.ProcessInfo) event.ProcessInfo {
	for _, text := range []*string{&info.Command, &info.Python, &info.IPython, &info.Frontend, &info.Notebook} {
		*text, _ = l.keep(*text, maxName)
	}
	return info
}

// maxBrief is how long a text is that is kept once memory is scarce, in bytes.
const maxBrief = 1 << 10

// few is how many stacks are looked through one after another.
const few = 64

// horizon is how many windows must have closed after one before it is archived. What comes later than that is lost.
const horizon = 128

// lingering is how many windows stay open to late changes after they closed: another CPU's may come behind the
// boundary.
const lingering = 16

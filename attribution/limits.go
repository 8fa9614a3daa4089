package attribution

import (
	"fmt"
	"strings"

	"ipytracer/event"
)

// limits count what had no room. A target can make anything without end, and so can whoever made a recording; each of these leaves the
// report incomplete, and is said in its certificate.
type limits struct {
	processes int // events of processes beyond the limit
	readings  int // of processes at one boundary
	late      int // changes that came so long after their segment that its windows are not to be changed any more
	ahead     int // changes of segments that do not come
	waiting   int // changes that waited for their segment, and were not counted to who allocated
	uncounted int // windows in which it was not counted who allocates
	unpaired  int // experiments that were not opened
	children  int // of windows
	texts     int // that were cut or left out

	known map[string]string // texts that are kept
	kept  int               // their bytes
}

const (
	maxReadings = 1 << 12 // of one boundary
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

// keep is a text as it is kept: each once, none longer than most bytes, and all of them bounded. whole is false where it was cut.
func (l *limits) keep(text string, most int) (kept string, whole bool) {
	if known, ok := l.known[text]; ok {
		return known, true
	}
	kept = text
	if whole = len(text) <= most; !whole {
		kept = strings.ToValidUTF8(text[:most], "")
	}
	if l.kept+len(kept) > maxText {
		kept, whole = "", text == ""
	}
	if !whole {
		l.texts++
	}
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
	for _, text := range []*string{&info.Command, &info.Python, &info.IPython, &info.Frontend} {
		*text, _ = l.keep(*text, maxName)
	}
	return info
}

// said are the reasons for which a certificate is not complete.
func (l *limits) said() (reasons []string) {
	for _, one := range []struct {
		count int
		text  string
	}{
		{l.processes, "%d events are of processes that are not in this report: there were more than " + fmt.Sprint(maxProcesses)},
		{l.readings, "%d readings of processes were left out: a boundary had too many"},
		{l.late, "%d changes came too late to be counted to their windows"},
		{l.ahead, "%d changes are of segments that are too far ahead"},
		{l.waiting, "%d changes are missing from who allocated: too many waited for their windows"},
		{l.uncounted, "who allocated was not counted in %d windows: too many were open at once"},
		{l.unpaired, "%d experiments are not in this report: too many were open at once"},
		{l.children, "%d times a child process is missing from a window's children: there were too many"},
		{l.texts, "%d texts were cut or left out: there was too much text"},
	} {
		if one.count > 0 {
			reasons = append(reasons, fmt.Sprintf(one.text, one.count))
		}
	}
	return reasons
}

package export

import (
	"fmt"
	"io"
	"iter"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// Recording is the report of one of several machines, and its place on their timeline.
type Recording struct {
	Node   string
	FromNS int64 // its beginning on the timeline
	Report *model.Report
}

// PerfettoOf is [Perfetto] for several machines. Their processes are numbered anew, as pids of two machines can be
// equal, and named after their node. Recordings are asked for one after another; it fails with the error of one.
func PerfettoOf(w io.Writer, all iter.Seq2[Recording, error]) error {
	p := newPerfetto(w)
	for one, err := range all {
		if err != nil {
			return err
		}
		p.place = &place{recording: one, pids: map[int]int{}, before: p.place.processes()}
		eachSlice(p, one.Report)
		if p.place.processes() == p.place.before {
			p.process(0, "nothing was traced")
		}
	}
	return p.flush()
}

// place is the place of a recording among several. A nil place is that of a trace of one recording: nothing moves.
type place struct {
	recording Recording
	pids      map[int]int // the new numbers
	before    int         // the processes of earlier recordings
}

// processes returns the number of processes up to this recording.
func (p *place) processes() int {
	if p == nil {
		return 0
	}
	return p.before + len(p.pids)
}

func (p *place) pid(pid int) int {
	if p == nil {
		return pid
	}
	if _, known := p.pids[pid]; !known {
		p.pids[pid] = p.processes() + 1
	}
	return p.pids[pid]
}

func (p *place) time(ns int64) int64 {
	if p == nil {
		return ns
	}
	return ns + p.recording.FromNS
}

func (p *place) name(pid int, name string) string {
	if p == nil {
		return name
	}
	return escape.Bounded(fmt.Sprintf("%s · %d %s", p.recording.Node, pid, name), maxExcerpt)
}

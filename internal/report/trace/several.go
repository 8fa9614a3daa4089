package trace

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// Part is the report of one of several machines, and its place on their timeline.
type Part struct {
	Node   string
	FromNS int64 // its beginning on the timeline
	Report *model.Report
}

// PerfettoOf is [Perfetto] for several machines. Their processes are numbered anew, as pids of two machines can be
// equal, and named after their node. Parts are asked for one after another; it fails with the error of a part.
func PerfettoOf(w io.Writer, parts iter.Seq2[Part, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	p := &perfetto{checked: checked{to: out}, tracks: map[track]int64{}}
	if err := several(p, parts); err != nil {
		return err
	}
	if p.err != nil {
		return p.err
	}
	return out.Flush()
}

func several(to sink, parts iter.Seq2[Part, error]) error {
	last := 0
	for part, err := range parts {
		if err != nil {
			return err
		}
		on := placed{to: to, part: part, pids: map[int]int{}, last: &last}
		print(&on, part.Report)
		if len(on.pids) == 0 {
			on.process(0, "nothing was traced")
		}
	}
	return nil
}

// placed moves the content of a part to its place.
type placed struct {
	to   sink
	part Part
	pids map[int]int // new numbers
	last *int
}

func (p *placed) pid(pid int) int {
	number, known := p.pids[pid]
	if !known {
		*p.last++
		number = *p.last
		p.pids[pid] = number
	}
	return number
}

func (p *placed) process(pid int, name string) {
	p.to.process(p.pid(pid), escape.Bounded(fmt.Sprintf("%s · %d %s", p.part.Node, pid, name), maxExcerpt))
}

func (p *placed) lane(pid int, kind string, number int) { p.to.lane(p.pid(pid), kind, number) }

func (p *placed) slice(s *slice) {
	moved := *s
	moved.pid, moved.from, moved.to = p.pid(s.pid), s.from+p.part.FromNS, s.to+p.part.FromNS
	p.to.slice(&moved)
}

func (p *placed) counter(pid int, meter string, at, bytes int64) {
	p.to.counter(p.pid(pid), meter, at+p.part.FromNS, bytes)
}

func (p *placed) gap(pid int, counter string, from, to int64, why string) {
	p.to.gap(p.pid(pid), counter, from+p.part.FromNS, to+p.part.FromNS, why)
}

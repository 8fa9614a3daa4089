// Package trace prints reports as timelines: cells, statements and experiments as slices, meters as counters, for
// Perfetto's user interface. Formats of stacks do not belong here.
package trace

import (
	"io"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// sink is a format that is written as windows and points come.
type sink interface {
	// process announces each process before its content; pid 0 stands for those that the report lacks.
	process(pid int, name string)
	// lane is a row of slices, which nest in it.
	lane(pid int, kind string, number int)
	slice(s *slice)
	counter(pid int, meter string, at, bytes int64)
	// gap is a time for which a counter is not complete.
	gap(pid int, counter string, from, to int64, why string)
}

// slice is a window, in the lane in which it nests.
type slice struct {
	pid, lane int
	kind      string // of the lane: laneCells or laneExperiments
	category  string
	name      string
	from, to  int64
	numbers   []number
	texts     []named
}

type number struct {
	name  string
	value int64
}

type named struct{ name, text string }

const (
	laneCells       = "cells"
	laneExperiments = "experiments"
)

// maxExcerpt is the length of a source in a slice, in cells of text.
const maxExcerpt = 200

// print goes through a report once.
func print(to sink, r *model.Report) {
	p := printer{to: to, known: map[int]bool{}, lanes: map[place][]nest{}, meters: words.Wholes(r.AllMeters())}
	for i := range r.Processes {
		one := &r.Processes[i]
		p.process(one.PID, one.Command)
	}
	for w := range r.AllPassing() {
		p.window(w)
	}
	c := counters{printer: &p, alone: map[counted]*alone{}, ends: map[int]int64{}, last: map[counted]int64{}}
	c.print(r)
}

// printer knows the lanes, and the open slices in them.
type printer struct {
	to     sink
	known  map[int]bool
	lanes  map[place][]nest
	meters []string
}

type place struct {
	pid  int
	kind string
}

// nest is a lane: the ends of its open slices, the outermost first, and the beginning of the last.
type nest struct {
	ends []int64
	last int64
}

func (p *printer) process(pid int, command string) {
	if p.known[pid] {
		return
	}
	p.known[pid] = true
	p.to.process(pid, escape.Bounded(command, maxExcerpt))
}

func (p *printer) window(w *model.Window) {
	s := slice{pid: w.PID, kind: laneCells, category: w.Kind, from: max(0, w.StartNS), name: name(w)}
	s.to = max(s.from, s.from+max(0, w.DurationNS))
	switch w.Kind {
	case model.Session: // the process has its track
		return
	case model.Experiment:
		s.kind = laneExperiments
	}
	p.process(w.PID, "")
	s.lane = p.place(&s)
	p.figures(w, &s)
	p.to.slice(&s)
}

// place finds a lane in which a slice lies within the open ones, or after them; viewers show others wrongly.
func (p *printer) place(s *slice) int {
	at := place{s.pid, s.kind}
	lanes := p.lanes[at]
	for i := range lanes {
		if lanes[i].take(s) {
			return i
		}
	}
	one := nest{}
	one.take(s)
	p.lanes[at] = append(lanes, one)
	p.to.lane(s.pid, s.kind, len(lanes))
	return len(lanes)
}

func (n *nest) take(s *slice) bool {
	if s.from < n.last {
		return false
	}
	open := len(n.ends)
	for open > 0 && n.ends[open-1] <= s.from {
		open--
	}
	if open > 0 && (n.ends[open-1] < s.to || s.kind == laneExperiments) {
		return false
	}
	n.ends, n.last = append(n.ends[:open], s.to), s.from
	return true
}

func name(w *model.Window) string {
	switch w.Kind {
	case model.Cell:
		return words.CellOf(w)
	case model.Statement:
		if w.Line > 0 {
			return "line " + words.Count(uint64(w.Line))
		}
	}
	if w.Name != "" {
		return escape.Bounded(w.Name, maxExcerpt)
	}
	return w.Kind
}

// ofTree is the prefix of figures and counters of a process and its descendants together. Without it they are the
// process's own.
const ofTree = "tree."

// figures returns the figures of a slice for a viewer: bytes of the meters that users read, for statements only those
// that moved.
func (p *printer) figures(w *model.Window, s *slice) {
	p.numbers(w, s, "", w.Meters)
	p.numbers(w, s, ofTree, w.Tree)
	if w.Status != model.OK {
		s.texts = append(s.texts, named{"status", escape.Bounded(w.Status, maxExcerpt)})
	}
	if w.Note != "" {
		s.texts = append(s.texts, named{"note", escape.Bounded(w.Note, maxExcerpt)})
	}
	if source := strings.TrimSpace(w.Source); source != "" {
		s.texts = append(s.texts, named{"source", escape.OneLine(source, w.SourceTruncated, maxExcerpt)})
	}
}

func (p *printer) numbers(w *model.Window, s *slice, prefix string, figures map[string]model.Figure) {
	for _, id := range p.meters {
		f, ok := figures[id]
		if !ok || w.Kind == model.Statement && f.Need() == 0 && f.Consumed == 0 {
			continue
		}
		id = prefix + escape.Text(id)
		s.numbers = append(s.numbers, number{id + ".start", f.Start}, number{id + ".peak", f.Peak},
			number{id + ".end", f.End})
		if !f.Exact {
			why := "at least"
			if f.Bound != nil {
				why = "off by at most " + words.Bytes(*f.Bound)
			}
			s.texts = append(s.texts, named{id + ".inexact", why})
		}
	}
}

// checked keeps the first error of a writer.
type checked struct {
	to  io.Writer
	err error
}

func (c *checked) write(b []byte) {
	if c.err == nil {
		_, c.err = c.to.Write(b)
	}
}

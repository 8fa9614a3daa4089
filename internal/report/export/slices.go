package export

import (
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// timeline knows the lanes, and the open slices in them.
type timeline struct {
	to     *perfetto
	known  map[int]bool
	lanes  map[row][]nest
	meters []string
}

type row struct {
	pid  int
	kind string
}

// nest is a lane: the ends of its open slices, the outermost first, and the beginning of the last.
type nest struct {
	ends []int64
	last int64
}

func (p *timeline) process(pid int, command string) {
	if p.known[pid] {
		return
	}
	p.known[pid] = true
	p.to.process(pid, escape.Bounded(command, maxExcerpt))
}

func (p *timeline) window(w *model.Window) {
	s := slice{pid: w.PID, kind: laneCells, category: w.Kind, from: max(0, w.StartNS), name: sliceName(w)}
	s.to = max(s.from, s.from+max(0, w.DurationNS))
	switch w.Kind {
	case model.Session: // the process has its track
		return
	case model.Experiment:
		s.kind = laneExperiments
	}
	p.process(w.PID, "")
	s.lane = p.laneOf(&s)
	p.figures(w, &s)
	p.to.slice(&s)
}

// laneOf finds a lane in which a slice lies within the open ones, or after them; viewers show others wrongly.
func (p *timeline) laneOf(s *slice) int {
	at := row{s.pid, s.kind}
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

func sliceName(w *model.Window) string {
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
func (p *timeline) figures(w *model.Window, s *slice) {
	p.numbers(w, s, "", w.Meters)
	p.numbers(w, s, ofTree, w.Tree)
	if w.Status != model.OK {
		s.texts = append(s.texts, note{"status", escape.Bounded(w.Status, maxExcerpt)})
	}
	if w.Note != "" {
		s.texts = append(s.texts, note{"note", escape.Bounded(w.Note, maxExcerpt)})
	}
	if source := strings.TrimSpace(w.Source); source != "" {
		s.texts = append(s.texts, note{"source", escape.OneLine(source, w.SourceTruncated, maxExcerpt)})
	}
}

func (p *timeline) numbers(w *model.Window, s *slice, prefix string, figures map[string]model.Figure) {
	for _, id := range p.meters {
		f, ok := figures[id]
		if !ok || w.Kind == model.Statement && f.Need() == 0 && f.Consumed == 0 {
			continue
		}
		id = prefix + escape.Text(id)
		s.numbers = append(s.numbers, amount{id + ".start", f.Start}, amount{id + ".peak", f.Peak},
			amount{id + ".end", f.End})
		if !f.Exact {
			why := "at least"
			if f.Bound != nil {
				why = "off by at most " + words.Bytes(*f.Bound)
			}
			s.texts = append(s.texts, note{id + ".inexact", why})
		}
	}
}

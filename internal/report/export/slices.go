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

func (p *timeline) window(cell *model.Window) {
	one := slice{pid: cell.PID, kind: laneCells, category: cell.Kind, from: max(0, cell.StartNS), name: sliceName(cell)}
	one.to = max(one.from, one.from+max(0, cell.DurationNS))
	switch cell.Kind {
	case model.Session: // the process has its track
		return
	case model.Experiment:
		one.kind = laneExperiments
	}
	p.process(cell.PID, "")
	one.lane = p.laneOf(&one)
	p.figures(cell, &one)
	p.to.slice(&one)
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

func (n *nest) take(one *slice) bool {
	if one.from < n.last {
		return false
	}
	open := len(n.ends)
	for open > 0 && n.ends[open-1] <= one.from {
		open--
	}
	if open > 0 && (n.ends[open-1] < one.to || one.kind == laneExperiments) {
		return false
	}
	n.ends, n.last = append(n.ends[:open], one.to), one.from
	return true
}

func sliceName(window *model.Window) string {
	switch window.Kind {
	case model.Cell:
		return words.CellOf(window)
	case model.Statement:
		if window.Line > 0 {
			return "line " + words.Count(uint64(window.Line))
		}
	}
	if window.Name != "" {
		return escape.Bounded(window.Name, maxExcerpt)
	}
	return window.Kind
}

// ofTree is the prefix of figures and counters of a process and its descendants together. Without it they are the
// process's own.
const ofTree = "tree."

// figures returns the figures of a slice for a viewer: bytes of the meters that users read, for statements only those
// that moved.
func (p *timeline) figures(window *model.Window, one *slice) {
	p.numbers(window, one, "", window.Meters)
	p.numbers(window, one, ofTree, window.Tree)
	if window.Status != model.OK {
		one.texts = append(one.texts, note{"status", escape.Bounded(window.Status, maxExcerpt)})
	}
	if window.Note != "" {
		one.texts = append(one.texts, note{"note", escape.Bounded(window.Note, maxExcerpt)})
	}
	if source := strings.TrimSpace(window.Source); source != "" {
		one.texts = append(one.texts, note{"source", escape.OneLine(source, window.SourceTruncated, maxExcerpt)})
	}
}

func (p *timeline) numbers(window *model.Window, one *slice, prefix string, figures map[string]model.Figure) {
	for _, id := range p.meters {
		figure, ok := figures[id]
		if !ok || window.Kind == model.Statement && figure.Need() == 0 && figure.Consumed == 0 {
			continue
		}
		id = prefix + escape.Text(id)
		one.numbers = append(one.numbers, amount{id + ".start", figure.Start}, amount{id + ".peak", figure.Peak},
			amount{id + ".end", figure.End})
		if !figure.Exact {
			why := "at least"
			if figure.Bound != nil {
				why = "off by at most " + words.Bytes(*figure.Bound)
			}
			one.texts = append(one.texts, note{id + ".inexact", why})
		}
	}
}

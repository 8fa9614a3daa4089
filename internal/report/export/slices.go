package export

import (
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// timeline writes windows as slices. It knows the lanes, and the open slices in them.
type timeline struct {
	to     *perfetto
	known  map[int]bool // processes that are announced
	lanes  map[row][]nest
	meters []string
}

// row is where the lanes of a kind of a process are shown.
type row struct {
	pid  int
	kind string
}

// nest is a lane. Its times are nanoseconds since the session began.
type nest struct {
	ends []int64 // of its open slices, the outermost first
	last int64   // the beginning of the last slice
}

// process announces a process at its first use.
func (p *timeline) process(pid int, command string) {
	if p.known[pid] {
		return
	}
	p.known[pid] = true
	p.to.process(pid, escape.Bounded(command, maxExcerpt))
}

// window writes a window as a slice. A session has none: its process's track shows it.
func (p *timeline) window(window *model.Window) {
	if window.Kind == model.Session {
		return
	}
	s := slice{
		pid: window.PID, kind: laneCells, category: window.Kind, from: max(0, window.StartNS), name: sliceName(window),
	}
	s.to = max(s.from, s.from+max(0, window.DurationNS))
	if window.Kind == model.Experiment {
		s.kind = laneExperiments
	}
	p.process(window.PID, "")
	s.lane = p.laneOf(&s)
	p.figures(window, &s)
	p.to.slice(&s)
}

// laneOf returns the first lane that can take a slice. If there is none, it begins a lane.
func (p *timeline) laneOf(s *slice) int {
	row := row{s.pid, s.kind}
	lanes := p.lanes[row]
	for i := range lanes {
		if lanes[i].add(s) {
			return i
		}
	}
	lane := nest{}
	lane.add(s)
	p.lanes[row] = append(lanes, lane)
	p.to.lane(s.pid, s.kind, len(lanes))
	return len(lanes)
}

// add adds a slice to the lane, if it lies within the innermost open slice or behind all of them: viewers show slices
// that overlap otherwise wrongly. Experiments are never put into each other. It reports whether it added the slice.
func (n *nest) add(s *slice) bool {
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

// sliceName returns the name of a window for people.
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

// figures adds a window's figures, status, note and source to its slice.
func (p *timeline) figures(window *model.Window, s *slice) {
	p.numbers(window, s, "", window.Meters)
	p.numbers(window, s, ofTree, window.Tree)
	if window.Status != model.OK {
		s.texts = append(s.texts, note{"status", escape.Bounded(window.Status, maxExcerpt)})
	}
	if window.Note != "" {
		s.texts = append(s.texts, note{"note", escape.Bounded(window.Note, maxExcerpt)})
	}
	if source := strings.TrimSpace(window.Source); source != "" {
		s.texts = append(s.texts, note{"source", escape.OneLine(source, window.SourceTruncated, maxExcerpt)})
	}
}

// numbers adds figures to a slice; to a statement's only figures that changed. The names of the meters get a prefix.
func (p *timeline) numbers(window *model.Window, s *slice, prefix string, figures map[string]model.Figure) {
	for _, id := range p.meters {
		figure, ok := figures[id]
		if !ok || window.Kind == model.Statement && figure.Need() == 0 && figure.Consumed == 0 {
			continue
		}
		id = prefix + escape.Text(id)
		s.numbers = append(s.numbers, amount{id + ".start", figure.Start}, amount{id + ".peak", figure.Peak},
			amount{id + ".end", figure.End})
		if !figure.Exact {
			why := "at least"
			if figure.Bound != nil {
				why = "off by at most " + words.Bytes(*figure.Bound)
			}
			s.texts = append(s.texts, note{id + ".inexact", why})
		}
	}
}

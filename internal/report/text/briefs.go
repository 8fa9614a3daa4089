package text

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// shortName returns a distinct name of a cell: its name, and the number of its run if several have that name.
func (s *survey) shortName(c *brief) string {
	name := c.name
	if s.labels[name+words.OfKernel(c.kernel)] > 1 {
		name += fmt.Sprintf(" (run %d)", c.execution)
	}
	return name + words.OfKernel(c.kernel)
}

// shortGap returns "after In[3]".
func (s *survey) shortGap(b model.Between) string {
	if w, ok := s.byID[b.After]; ok && w.kind == model.Cell {
		return "after " + s.shortName(w)
	}
	if w, ok := s.byID[b.Before]; ok && w.kind == model.Cell {
		return "before " + s.shortName(w)
	}
	return escape.Bounded(b.Label, maxName)
}

// cellName returns a cell's label, with its number if others have the same label.
func (s *survey) cellName(c model.Window) string {
	name := label(c)
	if name == "-" || c.Silent || s.several && c.Kernel == "" {
		name += fmt.Sprintf(" (cell #%d, pid %d)", c.Execution, c.PID)
	}
	return name + words.OfKernel(c.Kernel)
}

// gapLabel returns the label of a gap. It names cells without an In[N] by their text or, with --full, by their number
// in the table.
func (v *view) gapLabel(b model.Between) string {
	name := func(w *brief) string {
		if !w.counted || w.silent {
			if v.o.Full { // the table of cells has the numbers
				return fmt.Sprintf("#%d", w.execution)
			}
			return v.shortName(w)
		}
		return w.label
	}
	after, begun := v.byID[b.After]
	before, ended := v.byID[b.Before]
	if begun && ended && after.kind == model.Cell && before.kind == model.Cell {
		return "between " + name(after) + " and " + name(before) + words.OfKernel(b.Kernel)
	}
	return escape.Bounded(b.Label, maxProse)
}

func (s *survey) textOf(l model.Line) string {
	if l.Execution == 0 {
		return ""
	}
	for _, id := range s.byRun[run{l.PID, l.Execution}] {
		lines := strings.Split(s.fetch(id).Source, "\n")
		if l.Line >= 1 && l.Line <= len(lines) {
			return strings.TrimSpace(lines[l.Line-1])
		}
	}
	return ""
}

// kernels returns the processes that ran cells; the attached ones if none did.
func (s *survey) kernels() (all []model.Process) {
	for _, p := range s.r.Processes {
		if s.pids[p.PID] {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, p := range s.r.Processes {
		if p.Parent == 0 {
			all = append(all, p)
		}
	}
	return all
}

// life returns the figures of a process from beginning to end.
func (s *survey) life(p model.Process) map[string]model.Figure {
	if own := s.sessions[p.PID]; own != nil {
		return own
	}
	return p.Meters
}

// processName returns the name of a process beside one with cells.
func (s *survey) processName(pid, of int) string {
	for i := len(s.r.Processes) - 1; i >= 0; i-- { // a pid may have been used again
		if p := &s.r.Processes[i]; p.PID == pid {
			return s.childName(model.Child{PID: pid, Command: p.Command}, of)
		}
	}
	return ""
}

// childName returns the name of a child process.
func (s *survey) childName(c model.Child, of int) string {
	for _, p := range s.r.Processes {
		if p.PID == of && p.Command == c.Command {
			return words.Forked
		}
	}
	return escape.Bounded(words.ProcessName(c.Command), maxProse)
}

// depth returns the number of experiments around a window. A report from elsewhere may have cycles.
func (s *survey) depth(w model.Window) int {
	const deepest = 8
	n := 0
	for outer, ok := s.byID[w.Parent]; ok && n < deepest; outer, ok = s.byID[outer.parent] {
		if outer.kind == model.Experiment {
			n++
		}
		if outer.parent == outer.id {
			break
		}
	}
	return n
}

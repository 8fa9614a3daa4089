package attribution

import (
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// The windows are held against what IPython says of itself: it stores each cell in In before it compiles it, and its
// front end shows whether it waits for the next one. Where the two do not fit, a probe has been passed by.

// The probes that windows hang on, as the certificate names them.
const (
	startProbe     = "cell starts"
	endProbes      = "cell ends and prompts"
	resultProbe    = "cell ends"
	statementProbe = "statements"
)

// problems are what is amiss, in words.
type problems struct{ texts []string }

// stepDowns are what was ever stepped down that serves no meter.
type stepDowns struct {
	stacks bool     // they were not walked, at some time
	groups []string // probes that serve no meter, but windows
}

// reset says whether len(In) shows that In was emptied (%reset).
func (p *process) reset(inputs int64) bool { return inputs >= 0 && inputs < p.inputs }

// unseenBefore marks what the cells ran in that In has and that were not seen to begin, when the next cell begins; gap
// is the time between cells that ends with it, nil if there is none.
func (t *Tracker) unseenBefore(p *process, b *event.Boundary, gap *window) {
	first, last := p.inputs, b.Inputs-2
	if b.Late || p.inputs < 0 || last < first {
		return
	}
	in := gap
	switch {
	case len(p.open) > 0:
		in = p.open[len(p.open)-1]
	case p.lastCell != nil && p.lastCell.missed: // it went on until now
		in = p.lastCell
	}
	t.unseenIn(p, in, first, last)
}

// soonest is how long a front end takes at least from being done with a cell to having the next one compiled: it runs
// hundreds of lines of Python in between.
const soonest event.Nanoseconds = 10_000

// lateEnd marks the cell before whose end came with the beginning of the next: that is no word of a front end's.
func lateEnd(b *event.Boundary, gap *window) {
	if gap == nil || gap.before == nil || b.Time-gap.opened >= soonest {
		return
	}
	if w := gap.before; w.told {
		w.missed = true
		w.addNote(words.EndMissed)
	}
}

// unseenIn says that cells ran in a window without one of their own.
func (t *Tracker) unseenIn(p *process, in *window, first, last int64) {
	what := words.Cells(first, last) + words.OfKernel(p.kernel())
	t.unseen += last - first + 1
	doubted := startProbe
	if in != nil {
		in.addNote(words.RanUnseen(what))
		if in.kind == kindCell {
			doubted = endProbes
		}
	}
	t.problems.add(words.Unseen(int(p.info.PID), what, doubted))
}

// compare holds what is known of each process against what IPython said in the end.
func (t *Tracker) compare(shells []event.Shell) {
	idle := map[*process]event.Nanoseconds{}
	for _, s := range shells {
		p := t.processes.byPID[s.PID]
		if p == nil {
			continue
		}
		known := p.inputs
		if known < 0 && !p.info.Late {
			known = 1
		}
		running := int64(0) // one that has been stored and is about to be compiled
		if !s.Idle {
			running = 1
		}
		if known >= 0 && s.Inputs > known+running {
			in := p.lastCell
			if in == nil || !in.missed && in.note != words.StillRuns {
				in = p.lastGap
			}
			t.unseenIn(p, in, known, s.Inputs-1-running)
		}
		if s.Idle {
			idle[p] = max(idle[p], s.Time)
		}
	}
	for _, w := range t.table.staying {
		if at, ok := idle[w.process]; ok && w.kind == kindCell {
			w.overAt(at)
		}
	}
	t.doubt(endProbes, "was not seen to end", "were not seen to end", func(w *window) bool { return w.missed })
	t.doubt(resultProbe, "was not seen to have its result", "were not seen to have their results", t.lacksResult)
	t.doubt(statementProbe, "ran code, and no statement of it was seen", "ran code, and no statement of them was seen",
		t.lacksStatements)
}

// overAt marks a cell of a process whose front end waited for the next request: of its main thread, if it was open
// then, and any that its front end did not say to be over.
func (w *window) overAt(at event.Nanoseconds) {
	if w.isOwn() && w.note == words.StillRuns && w.opened < at {
		w.missed, w.note = true, words.NoEnd
	}
	w.missed = w.missed || w.untold
}

// doubt says of the cells that something is amiss with how many there are, and which probes' hits are missing.
func (t *Tracker) doubt(probes, one, several string, amiss func(*window) bool) {
	count := map[*process]int{}
	for _, w := range t.table.staying {
		if w.kind == kindCell && amiss(w) {
			count[w.process]++
			w.doubted = true
		}
	}
	for _, p := range t.processes.order {
		if n := count[p]; n > 0 {
			t.problems.add(words.Amiss(int(p.info.PID), n, one, several, probes))
		}
	}
}

// lacksStatements says whether a cell that ran to its end must have had statements, and none was seen. Where their
// probes were stepped down that is said already.
func (t *Tracker) lacksStatements(w *window) bool {
	if w.lastLine > 0 || w.late || w.isOpen || w.status != model.OK || w.truncated || t.stepDowns.were(statementProbe) {
		return false
	}
	return hasCode(t.texts.sourceOf(w))
}

// lacksResult says whether a front end's cell must have had its result seen, and had not. Of awaited cells not every
// Python tells.
func (t *Tracker) lacksResult(w *window) bool {
	if !w.resultless || !w.isOwn() || w.process.info.Frontend == "" || w.source == 0 || t.stepDowns.were(resultProbe) {
		return false
	}
	source := t.texts.sourceOf(w)
	return !strings.Contains(source, "await") && !strings.Contains(source, "async")
}

// were says whether probes were stepped down at some time.
func (sd *stepDowns) were(probes string) bool {
	return slices.ContainsFunc(sd.groups, func(p string) bool {
		return strings.HasPrefix(p, "the probes on "+probes+" were stepped down")
	})
}

// hasCode says whether a text has a line that is neither blank nor a comment.
func hasCode(source string) bool {
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

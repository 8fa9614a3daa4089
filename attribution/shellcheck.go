package attribution

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The windows are compared with IPython's own counts: IPython stores each cell in In before it compiles it, and its
// front end shows whether it waits for the next one. Where the two do not match, a probe was not hit.

// shellCheck compares the windows with the numbers that IPython has in the end.
type shellCheck struct {
	*state
	activity *activity
}

// soonest is the least time from a front end finishing a cell to the next one being compiled: it runs hundreds of lines
// of Python in between.
const soonest event.Nanoseconds = 10_000

// lateEnd marks the cell before a gap if its end came with the beginning of the next cell: such an end is no report of
// a front end.
func lateEnd(b *event.Boundary, gap *window) {
	if gap == nil || gap.before == nil || b.Time-gap.opened >= soonest {
		return
	}
	if w := gap.before; w.ending == endingReported {
		w.missed = true
		w.addNote(words.EndMissed)
	}
}

// compare compares the windows of each process with the counts that IPython had in the end.
func (sc *shellCheck) compare(shells []event.Shell) {
	idle := map[*process]event.Nanoseconds{}
	for _, s := range shells {
		p := sc.processes.byPID[s.PID]
		if p == nil {
			continue
		}
		known := p.inputs
		if known < 0 && !p.info.Late {
			known = 1
		}
		running := int64(0) // a cell that has been stored and is about to be compiled
		if !s.Idle {
			running = 1
		}
		if known >= 0 && s.Inputs > known+running {
			in := p.lastCell
			if in == nil || !in.missed && !in.note.is(words.StillRuns) {
				in = p.lastGap
			}
			sc.activity.unseenIn(p, in, known, s.Inputs-1-running)
		}
		if s.Idle {
			idle[p] = max(idle[p], s.Time)
		}
	}
	for _, w := range sc.table.staying {
		if at, ok := idle[w.process]; ok && w.kind == kindCell {
			w.overAt(at)
		}
	}
	sc.doubt(words.EndUnseen, func(w *window) bool { return w.missed })
	sc.doubt(words.ResultUnseen, sc.lacksResult)
	sc.doubt(words.StatementsUnseen, sc.lacksStatements)
}

// doubt adds a problem for the cells of each process of which a part was not seen.
func (sc *shellCheck) doubt(unseen words.ProblemKind, amiss func(*window) bool) {
	count := map[*process]int{}
	for _, w := range sc.table.staying {
		if w.kind == kindCell && amiss(w) {
			count[w.process]++
			w.doubted = true
		}
	}
	for _, p := range sc.processes.order {
		if n := count[p]; n > 0 {
			sc.problems.add(words.Problem{Kind: unseen, PID: int(p.info.PID), Count: n})
		}
	}
}

// lacksStatements reports whether a cell that ran to its end must have had statements, and none was seen. Where their
// probes were stepped down, that is reported already.
func (sc *shellCheck) lacksStatements(w *window) bool {
	if w.lastLine > 0 || w.late || w.isOpen || w.status != model.OK || w.truncated ||
		sc.stepDowns.were(event.Statements) {
		return false
	}
	return hasCode(sc.texts.sourceOf(w))
}

// lacksResult reports whether the result of a front end's cell must have been seen, and was not. Not every Python
// reports the results of awaited cells.
func (sc *shellCheck) lacksResult(w *window) bool {
	if !w.resultless || !w.isOwn() || w.process.info.Frontend == "" || w.source == 0 ||
		sc.stepDowns.were(event.CellEnds) {
		return false
	}
	source := sc.texts.sourceOf(w)
	return !strings.Contains(source, "await") && !strings.Contains(source, "async")
}

// hasCode reports whether a text has a line that is neither blank nor a comment.
func hasCode(source string) bool {
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

package activity

import (
	"strings"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The windows are compared with IPython's own counts: IPython stores each cell in In before it compiles the cell, and
// its front end shows whether it waits for the next cell. If they do not match the windows, a probe was not hit.

// soonest is the least time between the front end's end of a cell and the compile of the next cell: the front end runs
// hundreds of lines of Python in between.
const leastPause event.Nanoseconds = 10_000

// markLateEnd marks the cell before a time between cells if its end came with the beginning of the next cell: such an
// end is no report of a front end.
func markLateEnd(boundary *event.Boundary, between *windows.Window) {
	if between == nil || between.Before == nil || boundary.Time-between.Opened >= leastPause {
		return
	}
	if w := between.Before; w.Ending == windows.EndingReported {
		w.Missed = true
		w.AddNote(words.EndMissed)
	}
}

// CompareShells compares the windows of each process with the counts that IPython had in the end.
func (ac *Activity) CompareShells(shells []event.Shell) {
	idle := map[*windows.Process]event.Nanoseconds{}
	for _, s := range shells {
		process := ac.Processes.ByPID[s.PID]
		if process == nil {
			continue
		}
		known := process.Inputs
		if known < 0 && !process.Info.Late {
			known = 1
		}
		running := int64(0) // a cell that has been stored and is about to be compiled
		if !s.Idle {
			running = 1
		}
		if known >= 0 && s.Inputs > known+running {
			around := process.LastCell
			if around == nil || !around.Missed && !around.Note.Is(words.StillRuns) {
				around = process.LastBetween
			}
			ac.unseenIn(process, around, known, s.Inputs-1-running)
		}
		if s.Idle {
			idle[process] = max(idle[process], s.Time)
		}
	}
	for _, w := range ac.Table.Staying {
		if at, ok := idle[w.Process]; ok && w.Kind == windows.KindCell {
			w.MarkOver(at)
		}
	}
	ac.reportUnseen(words.EndUnseen, func(w *windows.Window) bool { return w.Missed })
	ac.reportUnseen(words.ResultUnseen, ac.lacksResult)
	ac.reportUnseen(words.StatementsUnseen, ac.lacksStatements)
}

// reportUnseen adds a problem for the cells of each process of which a part was not seen.
func (ac *Activity) reportUnseen(unseen words.ProblemKind, isUnseen func(*windows.Window) bool) {
	count := map[*windows.Process]int{}
	for _, window := range ac.Table.Staying {
		if window.Kind == windows.KindCell && isUnseen(window) {
			count[window.Process]++
			window.Doubted = true
		}
	}
	for _, p := range ac.Processes.Order {
		if n := count[p]; n > 0 {
			ac.Problems.Add(words.Problem{Kind: unseen, PID: int(p.Info.PID), Count: n})
		}
	}
}

// lacksStatements reports whether a cell that ran to its end must have had statements, and none was seen. Where their
// probes were paused, that is reported already.
func (ac *Activity) lacksStatements(window *windows.Window) bool {
	if window.LastLine > 0 || window.Late || window.IsOpen || window.Status != model.OK || window.Truncated ||
		window.Name != "" || ac.Paused.Includes(event.Statements) {
		return false
	}
	return hasCode(ac.Texts.SourceOf(window))
}

// lacksResult reports whether the result of a front end's cell must have been seen, and was not. Not every Python
// reports the results of awaited cells.
func (ac *Activity) lacksResult(window *windows.Window) bool {
	if !window.Resultless || !window.IsOwn() || window.Process.Info.Frontend == "" || window.Source == 0 ||
		ac.Paused.Includes(event.CellEnds) {
		return false
	}
	source := ac.Texts.SourceOf(window)
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

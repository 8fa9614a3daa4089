package tracer

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// A cell that runs at the attach began before the probes were in place. It is found on the stacks of the threads before
// the probes are placed, so that they see its end. Once they are in place, the stacks are read again, in case the cell
// ended in between.

// runningCells finds such cells.
type runningCells struct {
	fs     process.FS
	kernel cellNumbers
	log    *slog.Logger
	report *certificate
	cells  *cells
}

// foundCells are the cells of a thread that ran at the attach.
type foundCells struct {
	thread cpython.RunningThread
	opened ledger.RunningThread
}

// open opens the cells that a process already runs.
func (r *runningCells) open(t *target) (found []foundCells) {
	if !t.late || t.child || t.python.inputs == 0 {
		return nil
	}
	threads, err := t.python.live.RunningCells()
	if err != nil {
		r.log.Debug("the threads could not be read", "pid", t.pid, "error", err)
		return nil
	}
	for _, thread := range threads {
		f := foundCells{thread, ledger.RunningThread{Slot: t.slot, PID: t.pid, Self: thread.ID, Request: thread.Main &&
			t.inRequest(r.fs)}}
		for _, c := range thread.Cells {
			f.opened.Cells = append(f.opened.Cells, ledger.RunningCell{Coroutine: c.Coroutine, File: c.FileRaw})
		}
		err := r.kernel.OpenRunning(&f.opened)
		for i, number := range f.opened.Numbers {
			*r.cells.cell(number, int32(t.pid)) = *r.cell(t, number, &thread.Cells[i])
		}
		if err != nil {
			r.report.misses(t.pid, 0, nil, "pid %d ran a cell when it was attached to, whose end may not be seen: %v",
				t.pid, err)
			return found
		}
		found = append(found, f)
	}
	return found
}

// cell returns the description of a cell that already runs.
func (r *runningCells) cell(t *target, number uint64, from *cpython.RunningCell) *openCell {
	c := &openCell{
		pid: int32(t.pid), file: strings.ToValidUTF8(from.File, "?"), told: true, inputs: -1,
		found: &event.CellSource{Cell: number, PID: int32(t.pid), Text: strings.ToValidUTF8(from.Typed, "\ufffd"),
			Truncated: from.Truncated},
	}
	// IPython stores a cell in In before it runs, and the typed text of In[N] under the name _iN.
	last := t.python.count - 1
	for n := last; n > max(0, last-int64(ledger.MaxNesting)); n-- {
		if t.python.live.Text("__main__", fmt.Sprintf("_i%d", n)) == strings.TrimRight(from.Typed, "\n") {
			c.inputs = n + 1
			c.lines = typedLines(t.python.live.Input(t.python.inputs, n), from.Typed)
			break
		}
	}
	r.cells.keepLines(c)
	return c
}

// inRequest reports whether a front end's request is under way.
func (t *target) inRequest(fs process.FS) bool {
	waits, known := t.waits(fs)
	return known && !waits
}

// waits reports whether a front end waits for the next request, if that can be determined.
func (t *target) waits(fs process.FS) (waits, known bool) {
	status, err := fs.Proc(t.pid).Status()
	if err != nil {
		return false, false
	}
	return t.python.waits(&status)
}

// waits reports whether a process with a status waits for the next request: ipykernel ignores SIGINT then, and a
// terminal's prompt handles SIGWINCH (that of --simple-prompt does not).
func (p *python) waits(status *process.Status) (waits, known bool) {
	const interrupt, windowChange = 1 << (2 - 1), 1 << (28 - 1)
	switch p.front {
	case cpython.FrontendKernel:
		return status.Ignored&interrupt != 0, true
	case cpython.FrontendTerminal:
		return status.Caught&windowChange != 0, true
	}
	return false, false
}

// check ends the cells that were over before the probes were placed. It is called after that: the probes see the end of
// a cell that still runs.
func (r *runningCells) check(t *target, found []foundCells) {
	for i := range found {
		if r.run(t, &found[i]) {
			continue
		}
		if err := r.kernel.EndRunning(&found[i].opened); err != nil {
			r.report.problem("pid %d: a cell that ran when it was attached to ended unseen: %v", t.pid, err)
		}
	}
}

// run reports whether all cells of a thread still run. A stack that changes while it is read may hide them, so it is
// read up to three times.
func (r *runningCells) run(t *target, f *foundCells) bool {
	for range 3 {
		threads, err := t.python.live.RunningCells()
		if err != nil {
			continue
		}
		for _, now := range threads {
			if now.ID == f.thread.ID && sameCells(now.Cells, f.thread.Cells) {
				return true
			}
		}
	}
	return false
}

func sameCells(now, before []cpython.RunningCell) bool {
	return len(now) >= len(before) && slices.EqualFunc(now[:len(before)], before, func(a, b cpython.RunningCell) bool {
		return a.Coroutine == b.Coroutine && a.Typed == b.Typed
	})
}

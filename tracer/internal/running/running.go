// Package running knows the code that targets run. That is cells with their texts ([Cells]), code objects ([Codes]) and
// machine code ([Natives]). It also knows the cells from before the attach. So stacks get their functions and lines as
// they were typed.
package running

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/tracee"
)

// RunningCells finds the cells that run at the attach. They began before the probes were in place, and are found on the
// stacks of the threads. That happens before the probes are placed, so that these see their ends. Afterwards the stacks
// are read again, because a cell may have ended in between.
type RunningCells struct {
	FS     process.FS
	Kernel tracee.CellNumbers
	Log    *slog.Logger
	Report *tracee.Certificate
	Cells  *Cells
}

// foundCells are the cells of a thread that ran at the attach.
type foundCells struct {
	thread cpython.RunningThread
	opened ledger.RunningThread
}

// Open opens the cells that a process already runs.
func (r *RunningCells) Open(t *tracee.Target) (found []foundCells) {
	if !t.Late || t.Child || t.Python.Inputs == 0 {
		return nil
	}
	threads, err := t.Python.Live.RunningCells()
	if err != nil {
		r.Log.Debug("the threads could not be read", "pid", t.PID, "error", err)
		return nil
	}
	for _, thread := range threads {
		f := foundCells{thread, ledger.RunningThread{Slot: t.Slot, PID: t.PID, Self: thread.ID, Request: thread.Main &&
			t.InRequest(r.FS)}}
		for _, c := range thread.Cells {
			f.opened.Cells = append(f.opened.Cells, ledger.RunningCell{Coroutine: c.Coroutine, File: c.FileRaw})
		}
		err := r.Kernel.OpenRunning(&f.opened)
		for i, number := range f.opened.Numbers {
			*r.Cells.Cell(number, int32(t.PID)) = *r.describe(t, number, &thread.Cells[i])
		}
		if err != nil {
			r.Report.Misses(t.PID, 0, nil, "pid %d ran a cell when it was attached to, whose end may not be seen: %v",
				t.PID, err)
			return found
		}
		found = append(found, f)
	}
	return found
}

// describe returns the description of a cell that already runs.
func (r *RunningCells) describe(t *tracee.Target, number uint64, from *cpython.RunningCell) *OpenCell {
	c := &OpenCell{
		PID: int32(t.PID), File: strings.ToValidUTF8(from.File, "?"), Told: true, Inputs: -1,
		Found: &event.CellSource{Cell: number, PID: int32(t.PID), Text: strings.ToValidUTF8(from.Typed, "\ufffd"),
			Truncated: from.Truncated},
	}
	// IPython stores a cell in In before it runs, and the typed text of In[N] under the name _iN.
	last := t.Python.Count - 1
	for n := last; n > max(0, last-int64(ledger.MaxNesting)); n-- {
		if t.Python.Live.Text("__main__", fmt.Sprintf("_i%d", n)) == strings.TrimRight(from.Typed, "\n") {
			c.Inputs = n + 1
			c.Lines = TypedLines(t.Python.Live.Input(t.Python.Inputs, n), from.Typed)
			break
		}
	}
	r.Cells.keepLines(c)
	return c
}

// Check ends the cells that ended before the probes were placed. It must be called after that.
func (r *RunningCells) Check(t *tracee.Target, found []foundCells) {
	for i := range found {
		if r.stillRuns(t, &found[i]) {
			continue
		}
		if err := r.Kernel.EndRunning(&found[i].opened); err != nil {
			r.Report.Problem("pid %d: a cell that ran when it was attached to ended unseen: %v", t.PID, err)
		}
	}
}

// stillRuns reports whether all cells of a thread still run. A stack that changes while it is read may hide them, so it
// is read up to three times.
func (r *RunningCells) stillRuns(t *tracee.Target, f *foundCells) bool {
	for range 3 {
		threads, err := t.Python.Live.RunningCells()
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

// State has everything that a session knows of the code that its targets run.
type State struct {
	Cells   Cells
	Codes   Codes
	Natives Natives
}

// NewState returns a state that knows nothing yet. target returns a traced process, if it has not ended.
func NewState(fs process.FS, log *slog.Logger, kernel *tracee.KernelHalf, report *tracee.Certificate,
	target func(pid int) *tracee.Target) *State {
	return &State{
		Codes: Codes{Report: report},
		Natives: Natives{FS: fs, Kernel: kernel, Log: log, Target: target, Room: elffile.Room{Bytes: MaxNativeBytes},
			Naming: Naming{Done: func() { _ = kernel.Wake() }}},
	}
}

package lastlook

import (
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/tracee"
)

// The main thread of a waiting front end runs now and then, which changes its stack. So the stack is read up to
// shellLooks times, betweenShellLooks apart, until the thread did not run during a read.
const (
	shellLooks        = 10
	betweenShellLooks = 2 * time.Millisecond
)

// AskShells reads IPython's own state in each process that still runs.
func AskShells(fs process.FS, targets []*tracee.Target) (shells []event.Shell) {
	for _, t := range targets {
		if t.Python != nil && !t.Gone && t.Python.Inputs != 0 {
			shells = append(shells, askShell(t, fs))
		}
	}
	return shells
}

func askShell(t *tracee.Target, fs process.FS) (shell event.Shell) {
	for range shellLooks {
		shell = event.Shell{PID: int32(t.PID), Time: tracee.Now(), Inputs: -1}
		before, err := fs.Proc(t.PID).Status()
		if n, err := t.Python.Live.ListLen(t.Python.Inputs); err == nil {
			shell.Inputs = n
		}
		if waits, _ := t.Python.Waits(&before); !waits || err != nil {
			return shell
		}
		runs := runsCell(t.Python)
		// A request may have begun or ended in between: In had grown by its cell, or not.
		if after, err := fs.Proc(t.PID).Status(); err == nil && before.StoodStill(&after) {
			shell.Idle = !runs
			return shell
		}
		time.Sleep(betweenShellLooks)
	}
	return shell
}

// runsCell reports whether a cell is on the main thread's stack. If so, the cell itself has opened the prompt that
// waits.
func runsCell(p *tracee.Python) bool {
	threads, err := p.Live.RunningCells()
	return err == nil && slices.ContainsFunc(threads, func(t cpython.RunningThread) bool { return t.Main })
}

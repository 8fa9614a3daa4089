package tracer

import (
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
)

// The main thread of a front end that waits runs now and then, which changes its stack. So it is looked at up to
// shellLooks times, betweenShellLooks apart, until it has stood still meanwhile.
const (
	shellLooks        = 10
	betweenShellLooks = 2 * time.Millisecond
)

// askShells reads IPython's own state in each process that still runs.
func askShells(fs process.FS, targets []*target) (shells []event.Shell) {
	for _, t := range targets {
		if t.python != nil && !t.gone && t.python.inputs != 0 {
			shells = append(shells, t.askShell(fs))
		}
	}
	return shells
}

func (t *target) askShell(fs process.FS) (shell event.Shell) {
	for range shellLooks {
		shell = event.Shell{PID: int32(t.pid), Time: now(), Inputs: -1}
		before, err := fs.Proc(t.pid).Status()
		if n, err := t.python.live.ListLen(t.python.inputs); err == nil {
			shell.Inputs = n
		}
		if waits, _ := t.python.waits(&before); !waits || err != nil {
			return shell
		}
		runs := t.python.runsCell()
		// A request may have begun or ended in between: In had grown by its cell, or not.
		if after, err := fs.Proc(t.pid).Status(); err == nil && before.StoodStill(&after) {
			shell.Idle = !runs
			return shell
		}
		time.Sleep(betweenShellLooks)
	}
	return shell
}

// runsCell reports whether a cell is on the main thread's stack. If so, the cell itself has opened the prompt that
// waits.
func (p *python) runsCell() bool {
	threads, err := p.live.RunningCells()
	return err == nil && slices.ContainsFunc(threads, func(t cpython.RunningThread) bool { return t.Main })
}

package tracer

import (
	"fmt"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

const (
	// cellsTake is less CPU time than any Python takes to run a cell: `import IPython` alone takes 206 to 396 ms
	// (IPython 8.12, 8.35 and 9.11). A process that used less, and loaded no allocating library, ran no cell, so
	// nothing of it is missing.
	cellsTake = event.Nanoseconds(100 * time.Millisecond)
	// maxOverlookedTimes is the largest number of intervals kept for one meter of a tree. Later ones extend the last.
	maxOverlookedTimes = 4096
	commandShown       = 80 // bytes of a command line
)

// overlooked has the processes whose program is named python… and that were not examined: not yet, or not before they
// ended. They have no probes, so only their pages are known. Their allocations may be missing, and the report says so.
type overlooked struct {
	running map[int32]newcomer // by pid
	ended   uint64             // number of processes that ended without having been examined
	loaded  uint64             // number of these that had loaded an allocating library
	first   string             // describes the first of these
	times   map[treeMeter][]event.Unprobed
}

// newcomer is a Python process that has just begun.
type newcomer struct {
	since   event.Nanoseconds
	used    event.Nanoseconds // CPU time
	command string
}

// treeMeter is a meter of a tree, or of its first process, that was incomplete for some time.
type treeMeter struct {
	pid     int32
	meter   event.Meter
	ofChild bool
}

// begin records that a process executes a program named python….
func (o *overlooked) begin(b *event.Boundary, used event.Nanoseconds) {
	if o.running == nil {
		o.running = map[int32]newcomer{}
	}
	o.running[b.PID] = newcomer{b.Time, used, b.Command}
}

// found records that a process was examined, or that its missing figures were reported.
func (o *overlooked) found(pid int) { delete(o.running, int32(pid)) }

// end records that a process executes another program or has ended, with its CPU time so far and the libraries that it
// had loaded. root is the pid of the tree's first process.
func (o *overlooked) end(pid, root int32, at, used event.Nanoseconds, loaded ledger.Imports) {
	process, known := o.running[pid]
	delete(o.running, pid)
	if !known || loaded == 0 && used-process.used < cellsTake {
		return
	}
	if o.ended++; o.ended == 1 {
		o.first = fmt.Sprintf("pid %d, %s", pid,
			tracee.Shortened(strings.Join(strings.Fields(tracee.Clean(process.command)), " "), commandShown))
	}
	meters := tracee.MetersOf(loaded)
	if len(meters) > 0 {
		o.loaded++
	}
	for _, m := range meters {
		o.addTime(treeMeter{root, m, pid != root}, process.since, at)
	}
}

func (o *overlooked) addTime(key treeMeter, since, until event.Nanoseconds) {
	if o.times == nil {
		o.times = map[treeMeter][]event.Unprobed{}
	}
	times := o.times[key]
	if n := len(times); n > 0 && (since <= times[n-1].Until || n == maxOverlookedTimes) {
		last := &times[n-1]
		last.Since, last.Until = min(last.Since, since), max(last.Until, until)
		return
	}
	o.times[key] = append(times, event.Unprobed{PID: key.pid, Meter: key.meter, Since: since, Until: until,
		OfChild: key.ofChild})
}

// sentence returns a sentence on the processes that ended without having been examined, "" if there are none.
func (o *overlooked) sentence() string {
	if o.ended == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the Pythons that traced processes started could not be looked at before they ended "+
		"(the first: %s): if cells ran in them, these are not seen. "+
		"%d of them had loaded NumPy, PyTorch, Arrow or the CUDA driver: what they allocated there is missing", o.ended,
		o.first, o.loaded)
}

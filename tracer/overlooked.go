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
	// (IPython 8.12, 8.35 and 9.11). Of a process that used less and had loaded no allocating library, nothing is
	// missing.
	cellsTake = event.Nanoseconds(100 * time.Millisecond)
	// maxOverlookedTimes is the maximum of separate intervals kept for one meter of a tree. Later ones extend the last.
	maxOverlookedTimes = 4096
	commandShown       = 80 // bytes of a command line
)

// overlooked are programs that are named python… and of which only the pages are known: they have not been examined
// yet, or ended before they were. Their allocations may be missing, and the report says so.
type overlooked struct {
	running map[int32]newcomer
	ended   uint64 // processes that ended without having been examined
	loaded  uint64 // of these, those that had loaded an allocating library
	first   string // the first of them
	times   map[whose][]event.Unprobed
}

// newcomer is a Python process that has just begun.
type newcomer struct {
	since   event.Nanoseconds
	used    event.Nanoseconds // CPU time
	command string
}

// whose identifies a tree's meter that misses something for some time.
type whose struct {
	pid     int32
	meter   event.Meter
	ofChild bool
}

// begin notes that a process has begun to execute such a program.
func (o *overlooked) begin(b *event.Boundary, used event.Nanoseconds) {
	if o.running == nil {
		o.running = map[int32]newcomer{}
	}
	o.running[b.PID] = newcomer{b.Time, used, b.Command}
}

// found notes that a process has been examined, or that its missing figures were reported.
func (o *overlooked) found(pid int) { delete(o.running, int32(pid)) }

// end notes that a process executes another program or has ended, with the CPU time it had used and the libraries it
// had loaded. root is the tree's first process.
func (o *overlooked) end(pid, root int32, at, used event.Nanoseconds, loaded ledger.Imports) {
	one, known := o.running[pid]
	delete(o.running, pid)
	if !known || loaded == 0 && used-one.used < cellsTake {
		return
	}
	if o.ended++; o.ended == 1 {
		o.first = fmt.Sprintf("pid %d, %s", pid,
			tracee.Shortened(strings.Join(strings.Fields(tracee.Clean(one.command)), " "), commandShown))
	}
	meters := tracee.MetersOf(loaded)
	if len(meters) > 0 {
		o.loaded++
	}
	for _, m := range meters {
		o.miss(whose{root, m, pid != root}, one.since, at)
	}
}

func (o *overlooked) miss(key whose, since, until event.Nanoseconds) {
	if o.times == nil {
		o.times = map[whose][]event.Unprobed{}
	}
	all := o.times[key]
	if n := len(all); n > 0 && (since <= all[n-1].Until || n == maxOverlookedTimes) {
		last := &all[n-1]
		last.Since, last.Until = min(last.Since, since), max(last.Until, until)
		return
	}
	o.times[key] = append(all, event.Unprobed{PID: key.pid, Meter: key.meter, Since: since, Until: until,
		OfChild: key.ofChild})
}

// said returns a sentence on the missing figures, "" if there are none.
func (o *overlooked) said() string {
	if o.ended == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the Pythons that traced processes started could not be looked at before they ended "+
		"(the first: %s): if cells ran in them, these are not seen. "+
		"%d of them had loaded NumPy, PyTorch, Arrow or the CUDA driver: what they allocated there is missing", o.ended,
		o.first, o.loaded)
}

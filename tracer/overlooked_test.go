package tracer

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

// TestUnexaminedProcessesAreCounted: a process that ended without having been examined is counted, with the meters of
// its loaded libraries, unless it cannot have allocated anything.
func TestUnexaminedProcessesAreCounted(t *testing.T) {
	const root = 1
	var o overlooked
	starts := func(pid int32, at event.Nanoseconds) {
		o.begin(&event.Boundary{PID: pid, Time: at, Command: "python3\n  x.py"}, 500)
	}
	starts(10, 0)
	o.end(10, root, 100*cellsTake, 500+cellsTake-1, 0) // it mostly waited for the CPU: too little for a cell
	starts(11, 0)
	o.found(11) // examined
	o.end(11, root, 10*cellsTake, 500+10*cellsTake, ledger.ImportsNumPy)
	if said := o.sentence(); said != "" || len(o.times) > 0 {
		t.Fatalf("nothing is missing: %q, %v", said, o.times)
	}
	starts(12, 0)
	o.end(12, root, cellsTake, 500+cellsTake, 0) // may have run cells
	starts(13, 100)
	o.end(13, root, 101, 0, ledger.ImportsNumPy|ledger.ImportsTorch)
	starts(14, 200)
	o.end(14, root, 201, 0, ledger.ImportsCUDA)
	starts(root, 300)
	o.end(root, root, 301, 0, ledger.ImportsNumPy)
	if said := o.sentence(); !strings.HasPrefix(said, "4 of the Pythons") ||
		!strings.Contains(said, "pid 12, python3 x.py") || !strings.Contains(said, " 3 of them had loaded") {
		t.Errorf("said: %s", said)
	}
	for key, want := range map[treeMeter]event.Nanoseconds{
		{root, event.NumPy, true}: 100, {root, event.Torch, true}: 100,
		{root, event.OfDevice(0, event.Active), true}: 100,
		{root, event.OfDevice(0, event.Driver), true}: 200, {root, event.NumPy, false}: 300,
	} {
		if all := o.times[key]; len(all) != 1 || all[0].Since != want || all[0].Until != want+1 ||
			all[0].OfChild != key.ofChild {
			t.Errorf("%v: %v", key, all)
		}
	}
}

// TestOverlookedIsBounded: a target that starts Python processes without end makes the intervals coarser, not more.
func TestOverlookedIsBounded(t *testing.T) {
	var o overlooked
	for i := range event.Nanoseconds(3 * maxOverlookedTimes) {
		o.begin(&event.Boundary{PID: 2, Time: 10 * i}, 0)
		o.end(2, 1, 10*i+1, 0, ledger.ImportsNumPy)
	}
	all := o.times[treeMeter{1, event.NumPy, true}]
	if last := all[len(all)-1]; len(all) != maxOverlookedTimes || last.Until != 10*(3*maxOverlookedTimes-1)+1 {
		t.Errorf("%d times, the last %v", len(all), last)
	}
	if o.ended != 3*maxOverlookedTimes || len(o.running) != 0 {
		t.Errorf("%d ended, %d run", o.ended, len(o.running))
	}
}

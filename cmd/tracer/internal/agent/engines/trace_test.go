package engines

import (
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"testing"
	"time"
)

// TestTraces: the cells of a kernel are one trace, until ten minutes pass without one, or there are too many. Kernels
// and agents have traces of their own. Kernels that nobody reported as ended do not pile up.
func TestTraces(t *testing.T) {
	all := newTraces()
	one, other := kernelOf(1), kernelOf(2)
	at := func(minutes int) telemetry.TraceID {
		began := epoch.Add(time.Duration(minutes) * time.Minute)
		return all.of(one, began, began.Add(time.Minute))
	}
	first := at(0)
	again := *one // the same kernel, once more of it is known
	again.Pod = "known by now"
	if at(5) != first || at(16) != first || all.of(&again, epoch, epoch) != first {
		t.Error("a trace ended early")
	}
	second := at(28)
	if second == first || at(29) != second {
		t.Error("ten idle minutes end no trace")
	}
	if all.of(other, epoch, epoch) == first || newTraces().of(one, epoch, epoch) == first {
		t.Error("kernels, or agents, share a trace")
	}
	if (first == telemetry.TraceID{} || first == telemetry.TraceID{1}) {
		t.Error(first)
	}
	seen := map[telemetry.TraceID]int{}
	for range 2*traceCells + 1 {
		seen[all.of(other, epoch, epoch)]++
	}
	for id, n := range seen {
		if n > traceCells {
			t.Errorf("%x has %d cells", id, n)
		}
	}
	all.forget(one)
	if at(30) == second {
		t.Error("a kernel that has ended is known")
	}
	for pid := range 10 * maxTraces {
		all.of(kernelOf(pid), epoch, epoch)
	}
	if len(all.known) > maxTraces {
		t.Errorf("%d traces are known", len(all.known))
	}
}

package words

import (
	"strings"
	"testing"

	"ipytracer/model"
)

func TestDearProbes(t *testing.T) {
	const why = "its code is not one that is known for sure: the free at 0x175f93"
	for want, p := range map[string]model.Probe{
		"each array and each scalar is traced, which slows code down that makes many (" + why +
			"): 1,380,786 hits took about 1.38 s of CPU time": {Hits: 1_380_786, CostNS: 1_380_786_000, Dear: why},
		"": {Hits: 9_999, CostNS: 9_999_000, Dear: why}, // next to nothing
	} {
		if got := ExpensiveProbes(&p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	p := model.Probe{Hits: 1_380_786, CostNS: 1_380_786_000, Dear: why}
	const want = "each array and each scalar is traced, which slows code down that makes many: " +
		"1,380,786 hits took about 1.38 s of CPU time so far; the report says why"
	if got := ExpensiveProbesSoFar(&p); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if p.CostNS = leastDear - 1; ExpensiveProbesSoFar(&p) != "" {
		t.Errorf("next to nothing: %q", ExpensiveProbesSoFar(&p))
	}
	if got := ExpensiveProbes(&model.Probe{Hits: 1 << 40, CostNS: 1 << 50}); got != "" {
		t.Errorf("probes at good places: %q", got)
	}
}

// TestDearTraps: where traps are dear, the report says so for each kind of probes that took its time.
func TestDearTraps(t *testing.T) {
	p := model.Probe{Name: "numpy", Hits: 20_000, CostNS: 112_000_000, Dear: DearTraps(5200, 12_400, false),
		DearMachine: true}
	const want = "a hit of a probe is dear on this machine, 5.20 µs, and single-stepped 12.4 µs: numpy: " +
		"20,000 hits took about 112 ms of CPU time"
	if got := ExpensiveProbes(&p); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ExpensiveProbesSoFar(&p); got != want {
		t.Errorf("while the session runs: %q, want %q", got, want)
	}
	if p.DearMachine = false; !strings.HasPrefix(ExpensiveProbes(&p), eachTraced) {
		t.Errorf("a place with a reason of the same words: %q", ExpensiveProbes(&p))
	}
	p.DearMachine = true
	if p.Dear = DearTraps(5200, 12_400, true); !strings.Contains(ExpensiveProbes(&p), "do not agree") {
		t.Errorf("measurements that do not agree: %q", ExpensiveProbes(&p))
	}
	if p.CostNS = leastDear - 1; ExpensiveProbes(&p) != "" {
		t.Errorf("next to nothing: %q", ExpensiveProbes(&p))
	}
}

package words

import (
	"testing"

	"ipytracer/model"
)

func TestCounters(t *testing.T) {
	unknown := model.Counters{
		MinorFaults: -1, MajorFaults: -1, Waits: -1, Preemptions: -1, Instructions: -1, Cycles: -1, CacheReferences: -1,
		CacheMisses: -1,
	}
	kernel := unknown
	kernel.MinorFaults, kernel.MajorFaults, kernel.Waits, kernel.Preemptions = 1231, 3, 1, 0
	all := kernel
	all.Instructions, all.Cycles, all.CacheReferences, all.CacheMisses = 3_000_000, 2_000_000, 1000, 25
	alone := unknown
	alone.Cycles, alone.CacheMisses, alone.CacheReferences = 5, 1, 0
	for want, c := range map[string]model.Counters{
		"": unknown,
		"1,234 page faults, 3 of them from a disk · 1 wait · 0 preemptions": kernel,
		"1,234 page faults, 3 of them from a disk · 1 wait · 0 preemptions · 3,000,000 instructions (1.50 a cycle) · " +
			"25 cache misses (2.5 % of the references)": all,
		"5 cycles · 1 cache miss": alone,
	} {
		if got := Counters(&c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

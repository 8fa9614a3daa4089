package console

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// garbage bounds unused memory. By default, Go's collector allows as much garbage as memory in use, which is right for
// a tracer of some MiB. A tracer that has followed a notebook of ten thousand cells has tens of MiB in use, and garbage
// then allows half as much. That costs some percent more processor time.
type garbage struct {
	events  int
	percent int // of allowed garbage; 0: Go's default
	live    []metrics.Sample
}

const (
	largeHeap = 24 << 20 // bytes in use from which on less garbage is allowed
	smallHeap = 16 << 20 // bytes in use below which the usual percentage applies again

	// The allowed garbage, in percent of the memory in use.
	percentUsually   = 100
	percentIfLarge   = 50
	percentForReport = 25

	paceInterval = 1 << 12 // events
)

// Pace is called at each event. At each paceInterval-th one it adjusts the allowed garbage, unless the user has set
// GOGC.
func (g *garbage) Pace() {
	if g.events++; g.events%paceInterval == 0 {
		g.adjust()
	}
}

// adjust sets the allowed garbage by the memory in use.
func (g *garbage) adjust() {
	if os.Getenv("GOGC") != "" {
		return
	}
	if g.live == nil {
		g.live = []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	}
	metrics.Read(g.live)
	if g.live[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	if percent := percentFor(g.live[0].Value.Uint64(), g.percent); percent != g.percent {
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

// print allows little garbage from now on, because making the report takes more memory than anything before.
func (g *garbage) print() {
	if os.Getenv("GOGC") == "" {
		g.percent = percentForReport
		debug.SetGCPercent(percentForReport)
	}
}

// percentFor returns the percentage for a number of bytes in use, if it was before until now.
func percentFor(live uint64, before int) int {
	switch {
	case live >= largeHeap:
		return percentIfLarge
	case live < smallHeap || before == 0:
		return percentUsually
	}
	return before
}

package output

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// garbage bounds unused memory. Go's collector allows as much garbage as memory in use, which is right for a tracer of
// some MiB. A tracer that has followed a notebook of ten thousand cells has tens of MiB in use. Then only half as much
// garbage is allowed. That costs some percent more processor time, because packed data gives the collector little to
// look at.
type garbage struct {
	events  int
	percent int // allowed garbage in percent, 0 for Go's default
	live    []metrics.Sample
}

const (
	muchLive     = 24 << 20 // bytes in use above which less garbage is allowed
	littleLive   = 16 << 20 // bytes in use below which Go's default applies again
	halfAsMuch   = 50
	asMuch       = 100
	aFourth      = 25
	paceInterval = 1 << 12 // events
)

// Pace is called at each event, and acts now and then. A GOGC set by the user wins.
func (g *garbage) Pace() {
	if g.events++; g.events%paceInterval == 0 {
		g.settle()
	}
}

// settle reads the memory in use, and sets the allowed garbage.
func (g *garbage) settle() {
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

// print allows little garbage from now on: a report is made once, and takes more memory than anything before it.
func (g *garbage) print() {
	if os.Getenv("GOGC") == "" {
		g.percent = aFourth
		debug.SetGCPercent(aFourth)
	}
}

// percentFor returns the allowed garbage for a number of bytes in use, given the setting before.
func percentFor(live uint64, before int) int {
	switch {
	case live >= muchLive:
		return halfAsMuch
	case live < littleLive || before == 0:
		return asMuch
	}
	return before
}

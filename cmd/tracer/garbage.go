package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// garbage bounds how much memory stands unused. Go's collector lets as much garbage stand as is in use, which is right for a tracer of
// some MiB. One that has followed a notebook of ten thousand cells has tens of MiB in use: then half as much may stand, and the collector, which has
// little to look at in what is packed, takes some percent more processor time.
type garbage struct {
	events  int
	percent int // that may stand, 0 for what Go does
	live    []metrics.Sample
}

const (
	muchLive     = 24 << 20 // bytes in use from which on less garbage may stand
	littleLive   = 16 << 20 // bytes below which it may again stand as Go has it
	halfAsMuch   = 50
	asMuch       = 100
	aFourth      = 25
	paceInterval = 1 << 12 // events
)

// pace is called at each event, and looks now and then. Who has set GOGC decides.
func (g *garbage) pace() {
	if g.events++; g.events%paceInterval == 0 {
		g.settle()
	}
}

// settle looks how much is in use, and says how much garbage may stand beside it.
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

// print lets little stand from now on: a report is made once, and takes more memory than all that was before.
func (g *garbage) print() {
	if os.Getenv("GOGC") == "" {
		g.percent = aFourth
		debug.SetGCPercent(aFourth)
	}
}

// percentFor is how much garbage may stand beside so much that is in use, given how much it was before.
func percentFor(live uint64, before int) int {
	switch {
	case live >= muchLive:
		return halfAsMuch
	case live < littleLive || before == 0:
		return asMuch
	}
	return before
}

package agent

import (
	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/model"
)

// kernel is a kernel that is traced.
type kernel struct {
	pid     int
	root    uint32
	owner   owner
	monitor *attribution.Monitor
	highest int64 // the highest need of resident memory of any cell, in bytes
	busy    bool  // boundaries came since the last lull
	over    bool  // it has ended
}

// newKernel returns a kernel that has just joined a session.
func newKernel(start *event.Start, info event.ProcessInfo, o owner) *kernel {
	k := &kernel{pid: int(info.PID), root: info.Root, owner: o, monitor: attribution.NewMonitor()}
	one := *start
	one.Processes = nil
	k.monitor.Add(&one)
	return k
}

// resident is the meter of a cell's need.
const resident = "cpu.resident"

// need returns a cell's need of resident memory, in bytes: its peak, less what there was at its start.
func need(w *model.Window) int64 {
	f := w.Meters[resident]
	if tree, together := w.Tree[resident]; together {
		f = tree
	}
	return max(0, f.Peak-f.Start)
}

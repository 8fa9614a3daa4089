package agent

import (
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"
)

// kernel is a kernel that is traced.
type kernel struct {
	*telemetry.Kernel // as its next cells have it
	facts             facts
	settled           bool           // all names are known that will be
	held              []model.Window // cells that are kept until then
	tasks             []namedTask    // likewise
	monitor           *attribution.Monitor
	highest           int64          // the highest need of resident memory of any cell, in bytes
	busy              bool           // boundaries came since the last lull
	over              bool           // it has ended
	left              bool           // it goes on, and has given its number up
	notebook          string         // its path, as the kernel says; "" if it is not known
	ended             *model.Process // at the end, nil if that is not known
	statement         *model.Window  // that ran at the end, nil for none
}

// newKernel returns a kernel that has just joined a session.
func newKernel(start *event.Start, info event.ProcessInfo, f facts) *kernel {
	return kernelWith(attribution.NewMonitor(), start, info, f)
}

// kernelWith does the same with a monitor, which has seen nothing.
func kernelWith(monitor *attribution.Monitor, start *event.Start, info event.ProcessInfo, f facts) *kernel {
	f.claimed.Notebook = notebookOf(info.Notebook)
	of := &telemetry.Kernel{Owner: f.owner, PodUID: f.podUID, ContainerID: f.containerID, Claimed: f.claimed}
	of.UID, of.Place, of.Account = f.uid, f.place, f.account.group
	of.PID, of.Slot, of.Joined = int(info.PID), info.Root, time.Now()
	of.Python, of.IPython, of.Frontend = info.Python, info.IPython, info.Frontend
	of.Sources = start.Meters
	k := &kernel{Kernel: of, facts: f, settled: true, monitor: monitor}
	one := *start
	one.Processes = nil
	k.monitor.Add(&one)
	return k
}

// end keeps how a kernel has ended, before its monitor forgets processes.
func (k *kernel) end() {
	if p, ok := k.monitor.Process(k.PID); ok {
		k.ended = &p
	}
	if w, ok := k.monitor.Statement(k.PID); ok {
		k.statement = &w
	}
}

// times returns when a window began and ended, by the clock of now: CLOCK_MONOTONIC goes on where CLOCK_REALTIME is
// set.
func (k *kernel) times(w *model.Window) (began, ended time.Time) {
	began = wall(k.monitor.Origin() + event.Nanoseconds(w.StartNS))
	return began, began.Add(time.Duration(w.DurationNS))
}

// wall returns the time of CLOCK_REALTIME for a time of CLOCK_MONOTONIC.
func wall(at event.Nanoseconds) time.Time {
	var mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(int64(at) - mono.Nano()))
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

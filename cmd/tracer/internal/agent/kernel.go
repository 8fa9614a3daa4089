package agent

import (
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/agent/users"
	"ipytracer/event"
	"ipytracer/model"
)

// kernel is a kernel that is traced.
type kernel struct {
	*telemetry.Kernel // as its next cells have it
	facts             facts
	settled           bool             // all names are known that will be
	held              []model.Window   // cells that are kept until then
	tasks             []telemetry.Task // likewise
	monitor           *attribution.Monitor
	highest           int64          // the highest need of resident memory of any cell, in bytes
	busy              bool           // boundaries came since the last lull
	over              bool           // it has ended
	left              bool           // it goes on, and has given its number up
	notebook          string         // its path, as the kernel says; "" if it is not known
	ended             *model.Process // at the end, nil if that is not known
	statement         *model.Window  // that ran at the end, nil for none
}

// newKernel returns a kernel that has just joined a session. Its monitor has seen nothing.
func newKernel(monitor *attribution.Monitor, start *event.Start, info event.ProcessInfo, f facts) *kernel {
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

// now returns the figures of a kernel that runs, and its process; known is false where its monitor knows none.
func (k *kernel) now() (now users.Kernel, p model.Process, known bool) {
	if p, known = k.monitor.Process(k.PID); !known {
		return now, p, false
	}
	tree := k.monitor.Tree(k.PID)
	now = users.Kernel{
		PID: k.PID, Server: k.HubServer, Notebook: k.Claimed.Notebook, Frontend: telemetry.Label(k.Frontend),
		Python: telemetry.Label(k.Python), Joined: k.Joined.UTC(), Resident: tree[telemetry.Resident],
		Highest: k.highest, GPUs: []users.GPU{},
	}
	if len(p.Limits) > 0 {
		now.Limit = &users.Limit{Kind: p.Limits[0].Kind, Bytes: p.Limits[0].Bytes}
	}
	for n := range event.MaxDevices {
		if bytes, used := tree[event.OfDevice(n, event.Driver).String()]; used {
			now.GPUs = append(now.GPUs, users.GPU{Number: n, Bytes: bytes})
		}
	}
	return now, p, true
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

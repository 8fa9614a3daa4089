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
	*telemetry.Kernel // the record that its next cells get
	facts             facts
	settled           bool             // no more names of it will come
	held              []model.Window   // cells that are held until it is settled
	tasks             []telemetry.Task // tasks that are held until it is settled
	monitor           *attribution.Monitor
	highest           int64          // the highest need of resident memory of any cell, in bytes
	busy              bool           // boundaries came since the last lull
	hasEnded          bool           // its process has ended, or the agent has given it up
	givenUp           bool           // the agent has given it up, and its process goes on
	notebook          string         // the path of its notebook, as it claims; "" if unknown
	lastProcess       *model.Process // its process at the end; nil if unknown
	lastStatement     *model.Window  // the statement that ran at the end; nil for none
}

// newKernel returns a kernel that has just joined a session. Its monitor has seen nothing.
func newKernel(monitor *attribution.Monitor, start *event.Start, info event.ProcessInfo, f facts) *kernel {
	f.claimed.Notebook = notebookOf(info.Notebook)
	record := &telemetry.Kernel{
		Owner: f.owner, PodUID: f.podUID, ContainerID: f.containerID, Claimed: f.claimed,
		UID: f.uid, Place: f.place, Account: f.account.group,
		PID: int(info.PID), Slot: info.Root, Joined: time.Now(),
		Python: info.Python, IPython: info.IPython, Frontend: info.Frontend, Sources: start.Meters,
	}
	alone := *start
	alone.Processes = nil // the session began with other kernels
	monitor.Add(&alone)
	return &kernel{Kernel: record, facts: f, settled: true, monitor: monitor}
}

// end keeps the kernel's last process and statement, before its monitor forgets them.
func (k *kernel) end() {
	if p, ok := k.monitor.Process(k.PID); ok {
		k.lastProcess = &p
	}
	if w, ok := k.monitor.Statement(k.PID); ok {
		k.lastStatement = &w
	}
}

// now returns the present figures of a kernel, and its process. known is false if the monitor does not know the
// process.
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

// times returns when a window began and ended. It converts by the present difference of the clocks, which changes
// whenever somebody sets CLOCK_REALTIME.
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

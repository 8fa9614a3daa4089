// Package deaths keeps reports of kernels that were killed, for their users. The companion of the notebook's next
// kernel is sent a report, and a user can ask for all of them on a Unix socket.
//
// Everything here depends on who somebody is. That is a user inside a boundary (a pod, a container, the machine), as
// the Linux kernel has it: user 1000 is somebody else in each pod. Names of notebooks only choose among the reports of
// one person.
package deaths

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/internal/host/packets"
)

// Options are what a [Keeper] needs.
type Options struct {
	Config func() *Config // returns the present one
	// Protocol is the version of the protocol of links to companions.
	Protocol string
	// Place returns the boundary inside which a process's user is one person, as [telemetry.Kernel] has it.
	Place func(pid int, uid uint32) string
	Log   *slog.Logger
}

// Keeper keeps reports. It is a [telemetry.Sink], and a [tracer.Messenger] for the companions of kernels.
type Keeper struct {
	options Options
	closers packets.Closers
	wake    chan struct{}
	folder  *folder // nil: reports are only in memory for now
	now     func() time.Time
	retry   time.Duration // the interval of attempts after an error of the folder

	mu      sync.Mutex
	shelf   shelf
	counts  Counts
	kernels map[int]origin // of the kernels that run, by process ID
}

// Counts counts reports. All but Kept count since the agent has started.
type Counts struct {
	Kept    int    // reports that are kept now
	Made    uint64 // reports that were made
	Dropped uint64 // reports that were dropped for want of room
	Shown   uint64 // reports that were sent to a companion
	Nobodys uint64 // deaths without a report, because the kernel's owner is unknown
}

// Counts returns the present counts. Any goroutine may call it.
func (k *Keeper) Counts() Counts {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.counts
	c.Kept = len(k.shelf.reports)
	return c
}

const (
	// pruneEvery is the interval at which old reports are dropped.
	pruneEvery = time.Hour
	// retryEvery is the interval at which reports that could not be written are written again.
	retryEvery = 10 * time.Second
)

// New returns a Keeper with the reports in the folder. If the folder cannot be opened, New logs that: reports are kept
// in memory until it can.
func New(o Options) *Keeper {
	k := &Keeper{
		options: o, closers: packets.Closers{Most: 8, MostOf: 2}, wake: make(chan struct{}, 1), now: time.Now,
		kernels: map[int]origin{}, retry: retryEvery,
	}
	if folder := o.Config().Folder; folder != "" {
		if err := k.open(folder); err != nil {
			o.Log.Warn("reports of deaths are in memory only for now", "folder", folder, "error", err)
		}
	}
	return k
}

// open opens the folder, and adds its reports to the shelf.
func (k *Keeper) open(folder string) error {
	f, err := openFolder(folder)
	if err != nil {
		return err
	}
	k.folder = f
	reports, skipped, err := f.load()
	if err != nil || skipped > 0 {
		k.options.Log.Warn("not all reports of deaths could be read", "folder", folder, "skipped", skipped,
			"error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range reports {
		k.shelf.add(r)
	}
	k.dropSurplus()
	return nil
}

// Run writes reports and answers on the socket until the context is done.
func (k *Keeper) Run(ctx context.Context) {
	served := make(chan struct{})
	go func() { k.serve(ctx); close(served) }()
	k.runWriter(ctx)
	<-served
}

// runWriter keeps the folder up to date until the context is done. After an error it tries again soon, since a full
// disk may get room.
func (k *Keeper) runWriter(ctx context.Context) {
	folder := k.options.Config().Folder
	if folder == "" {
		return
	}
	failing := k.folder == nil
	tick := time.NewTicker(k.checkInterval(failing))
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true // after one last sync
		case <-k.wake:
		case <-tick.C:
		}
		err := k.sync(folder)
		switch {
		case err != nil && !failing:
			k.options.Log.Warn("reports of deaths are in memory only for now", "error", err)
		case err == nil && failing:
			k.options.Log.Warn("reports of deaths are written again", "folder", folder)
		}
		if (err != nil) != failing {
			failing = err != nil
			tick.Reset(k.checkInterval(failing))
		}
	}
	if k.folder != nil {
		k.folder.close()
	}
}

// checkInterval returns the interval at which the writer works without a new report.
func (k *Keeper) checkInterval(failing bool) time.Duration {
	if failing {
		return k.retry
	}
	return pruneEvery
}

// sync brings the folder up to date with the reports.
func (k *Keeper) sync(folder string) error {
	if k.folder == nil {
		if err := k.open(folder); err != nil {
			return err
		}
	}
	return k.folder.sync(k.currentReports())
}

// currentReports drops the reports that are too old or too many, and returns the others.
func (k *Keeper) currentReports() []*Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropSurplus()
	return append([]*Report(nil), k.shelf.reports...)
}

// dropSurplus drops the reports that are too old or too many. The caller holds mu.
func (k *Keeper) dropSurplus() {
	k.counts.Dropped += uint64(k.shelf.dropSurplus(k.options.Config(), k.now()))
}

func (k *Keeper) wakeWriter() {
	select {
	case k.wake <- struct{}{}:
	default: // the writer is to wake already
	}
}

// Joined notes a kernel that is traced from now on, or that names another notebook.
func (k *Keeper) Joined(kernel *telemetry.Kernel, notebook string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kernels[kernel.PID] = originOf(kernel, notebook)
}

func originOf(kernel *telemetry.Kernel, notebook string) origin {
	return origin{owner{kernel.UID, kernel.Place}, path(notebook), name(kernel.Claimed.KernelID)}
}

// Left forgets a kernel.
func (k *Keeper) Left(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kernels, pid)
}

// Cell implements [telemetry.Sink].
func (k *Keeper) Cell(*telemetry.Cell) {}

// Task implements [telemetry.Sink].
func (k *Keeper) Task(*telemetry.Task) {}

// Death implements [telemetry.Sink]. It makes a report if the kernel was killed and its owner is known. After any other
// end, earlier reports of the same notebook count as shown. A worker of Dask is no kernel.
func (k *Keeper) Death(d *telemetry.Death) {
	if d.Kernel.Worker || d.Ending == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	wasKilled, ownerIsKnown := causeOf(d.Ending) != "", d.Kernel.Place != ""
	switch {
	case !ownerIsKnown && wasKilled:
		k.counts.Nobodys++
		return
	case !ownerIsKnown:
		return
	case !wasKilled:
		if k.shelf.markAll(originOf(d.Kernel, d.Notebook)) {
			k.wakeWriter()
		}
		return
	}
	k.shelf.addLatest(newReport(telemetry.NewID(), d))
	k.counts.Made++
	k.dropSurplus()
	k.wakeWriter()
}

// Owes implements [tracer.Messenger].
func (k *Keeper) Owes(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	origin, known := k.kernels[pid]
	return known && k.closers.Waiting() < maxToClose && k.shelf.owed(origin) != nil
}

// maxToClose is the most links that may wait to be closed. While as many wait, the agent makes no new link.
const maxToClose = 32

// Announces implements [tracer.Messenger].
func (k *Keeper) Announces() string { return fmt.Sprintf(`{"line": %q}`, k.options.Protocol) }

// message is the packet to a companion.
type message struct {
	Death *death `json:"death"`
}

// death is a report with a sentence about it.
type death struct {
	Says   string  `json:"says"`
	Report *Report `json:"report"`
}

// Deliver implements [tracer.Messenger]. The report counts as shown once it lies in the companion's socket.
func (k *Keeper) Deliver(pid, end int) {
	defer k.closers.Put(uint32(pid), end)
	r := k.takeOwed(pid)
	if r == nil {
		return
	}
	text, err := json.Marshal(message{&death{r.Says("the last kernel of this notebook"), r}})
	if err == nil {
		_, err = unix.SendmsgN(end, text, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
	k.mu.Lock()
	if err != nil {
		k.options.Log.Debug("a report of a death could not be sent", "pid", pid, "error", err)
		k.shelf.markID(r.ID, false)
	} else {
		k.counts.Shown++
	}
	k.mu.Unlock()
	k.wakeWriter()
}

// takeOwed returns the report that is owed to a kernel, and marks it as shown, so that a second kernel of the notebook
// does not get it, too.
func (k *Keeper) takeOwed(pid int) *Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, known := k.kernels[pid]
	if !known {
		return nil
	}
	r := k.shelf.owed(o)
	if r != nil {
		k.shelf.markID(r.ID, true)
	}
	return r
}

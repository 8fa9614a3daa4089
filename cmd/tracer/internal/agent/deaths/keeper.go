// Package deaths keeps reports of kernels that were killed, for the people whose kernels they were: the companion of
// the notebook's next kernel is sent a report, and a user can ask for all of them on a Unix socket.
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
	// Protocol is the version of lines to companions.
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
	retry   time.Duration // after an error of the folder

	mu      sync.Mutex
	shelf   shelf
	counts  Counts
	kernels map[int]origin // those that run, by pid
}

// Counts are how many reports there are, and what has become of deaths since the agent has started.
type Counts struct {
	Kept    int    // reports now
	Made    uint64 // reports
	Dropped uint64 // reports that there was no room for
	Shown   uint64 // reports that a companion was sent
	Nobodys uint64 // deaths without a report, as it is not known whose they were
}

// Counts returns the present counts. It may be called from any goroutine.
func (k *Keeper) Counts() Counts {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.counts
	c.Kept = len(k.shelf.reports)
	return c
}

const (
	// pruneEvery is the interval at which reports are looked through for old ones.
	pruneEvery = time.Hour
	// retryEvery is the interval at which reports that could not be written are written again.
	retryEvery = 10 * time.Second
)

// New returns a Keeper with the reports that lie in the folder. Where there can be no folder, the log says so, and
// reports are kept in memory until there can be one.
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

// open opens the folder, and takes in the reports that lie there.
func (k *Keeper) open(folder string) error {
	f, err := openFolder(folder)
	if err != nil {
		return err
	}
	k.folder = f
	all, skipped, err := f.load()
	if err != nil || skipped > 0 {
		k.options.Log.Warn("not all reports of deaths could be read", "folder", folder, "skipped", skipped,
			"error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range all {
		k.shelf.add(r)
	}
	k.bound()
	return nil
}

// Run writes reports and answers on the socket until the context is done.
func (k *Keeper) Run(ctx context.Context) {
	served := make(chan struct{})
	go func() { k.serve(ctx); close(served) }()
	k.write(ctx)
	<-served
}

// write keeps the folder up to date. After an error it tries again soon: a disk that was full has room again.
func (k *Keeper) write(ctx context.Context) {
	folder := k.options.Config().Folder
	if folder == "" {
		return
	}
	failing := k.folder == nil
	tick := time.NewTicker(k.pause(failing))
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true // what is known by now is written
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
			tick.Reset(k.pause(failing))
		}
	}
	if k.folder != nil {
		k.folder.close()
	}
}

// pause returns the interval at which the folder is looked after without a new report.
func (k *Keeper) pause(failing bool) time.Duration {
	if failing {
		return k.retry
	}
	return pruneEvery
}

// sync makes the files of the folder the reports.
func (k *Keeper) sync(folder string) error {
	if k.folder == nil {
		if err := k.open(folder); err != nil {
			return err
		}
	}
	return k.folder.sync(k.bounded())
}

// bounded returns the reports, without those that are too old or too many.
func (k *Keeper) bounded() []*Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bound()
	return append([]*Report(nil), k.shelf.reports...)
}

// bound drops the reports that are too old or too many. The caller holds mu.
func (k *Keeper) bound() { k.counts.Dropped += uint64(k.shelf.bound(k.options.Config(), k.now())) }

func (k *Keeper) changed() {
	select {
	case k.wake <- struct{}{}:
	default: // it will be seen
	}
}

// Joined takes in a kernel that is traced from now on, or that names another notebook.
func (k *Keeper) Joined(of *telemetry.Kernel, notebook string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kernels[of.PID] = originOf(of, notebook)
}

func originOf(of *telemetry.Kernel, notebook string) origin {
	return origin{owner{of.UID, of.Place}, path(notebook), name(of.Claimed.KernelID)}
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

// Death implements [telemetry.Sink]. A kernel of a user who is not known leaves nothing: nobody could have it.
// A worker of Dask is no kernel.
func (k *Keeper) Death(d *telemetry.Death) {
	if d.Kernel.Worker || d.Ending == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.Kernel.Place == "" {
		if causeOf(d.Ending) != "" {
			k.counts.Nobodys++
		}
		return
	}
	if causeOf(d.Ending) == "" {
		if k.shelf.passed(originOf(d.Kernel, d.Notebook)) {
			k.changed()
		}
		return
	}
	k.shelf.addLatest(newReport(telemetry.NewID(), d))
	k.counts.Made++
	k.bound()
	k.changed()
}

// Owes implements [tracer.Messenger].
func (k *Keeper) Owes(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, known := k.kernels[pid]
	return known && k.closers.Waiting() < maxToClose && k.shelf.last(o) != nil
}

// maxToClose is how many lines may wait to be closed: no more are made then.
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
	r := k.takeLast(pid)
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
	k.changed()
}

// takeLast returns the report that is owed to a kernel, and marks it: two kernels of a notebook are not sent the same.
func (k *Keeper) takeLast(pid int) *Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, known := k.kernels[pid]
	if !known {
		return nil
	}
	r := k.shelf.last(o)
	if r != nil {
		k.shelf.markID(r.ID, true)
	}
	return r
}

package tracee

import (
	"log/slog"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
)

// Containers divide the memory of the targets' containers where windows end. The kernel half has only their sums.
type Containers struct {
	FS  process.FS
	Log *slog.Logger

	known  map[uint64]*divided // by the number of the cgroup
	looked time.Time           // when a cgroup was last looked for
}

// divided is a container with an open memory.stat.
type divided struct {
	stat    *process.CgroupStat // nil: it cannot be read
	at      time.Time           // of the last reading
	highest event.Bytes         // the container's highest use at that time
}

// The least times between two readings. Linux adds up the counts of all CPUs for a reading, which may take it some
// milliseconds on a large machine. A process that moves from cgroup to cgroup makes the tracer look for each.
const (
	divideRisen = 10 * time.Millisecond  // the container was never as high before
	divideAny   = 250 * time.Millisecond // otherwise
	lookAgain   = time.Second
	mostDivided = 64
)

// Divide adds to a boundary at which a window may end the parts of the memory of its process's container, as they are
// now.
func (c *Containers) Divide(b *event.Boundary) {
	switch b.Kind {
	case event.CellClose, event.ExperimentEnd, event.Detached, event.ProcessExit:
	default:
		return
	}
	if b.Container.Number == 0 {
		return
	}
	d := c.find(b)
	if d == nil || d.stat == nil {
		return
	}
	rest := divideAny
	if b.Container.Highest > d.highest {
		rest = divideRisen
	}
	if b.Kind == event.CellClose && time.Since(d.at) < rest {
		return
	}
	parts, err := d.stat.Read()
	if err != nil { // the cgroup was removed
		c.Log.Debug("the parts of a container's memory", "error", err)
		d.stat.Close()
		d.stat = nil
		return
	}
	d.at, d.highest = time.Now(), b.Container.Highest
	b.Container.Parts = event.ContainerParts{Known: true, Anon: event.Bytes(parts.Anon), File: event.Bytes(parts.File),
		Shmem: event.Bytes(parts.Shmem), Kernel: event.Bytes(parts.Kernel)}
}

// find returns the container of a boundary; nil if it was not looked for.
func (c *Containers) find(b *event.Boundary) *divided {
	if d := c.known[b.Container.Number]; d != nil {
		return d
	}
	if len(c.known) >= mostDivided || time.Since(c.looked) < lookAgain && len(c.known) > 0 {
		return nil
	}
	if c.known == nil {
		c.known = map[uint64]*divided{}
	}
	d := &divided{}
	stat, err := c.FS.Proc(int(b.PID)).OpenCgroupStat(b.Container.Number)
	if err != nil {
		c.Log.Debug("the parts of a container's memory", "pid", b.PID, "error", err)
	} else {
		d.stat = stat
	}
	c.looked, c.known[b.Container.Number] = time.Now(), d
	return d
}

// Close closes all files.
func (c *Containers) Close() {
	for _, d := range c.known {
		if d.stat != nil {
			d.stat.Close()
		}
	}
	c.known = nil
}

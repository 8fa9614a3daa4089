package tracee

import (
	"log/slog"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/cgroupstat"
	"ipytracer/internal/host/process"
)

// Containers divide the memory of the targets' containers where windows end. The kernel half has only their sums.
type Containers struct {
	FS  process.FS
	Log *slog.Logger

	known  map[uint64]*divided // by the number of the cgroup
	looked time.Time           // when a cgroup was last looked for

	peaks peaks
}

// divided is a container with an open memory.stat.
type divided struct {
	stat  *cgroupstat.Stat // nil: it cannot be read
	at    time.Time        // of the last reading
	parts event.ContainerParts
}

// The least times between two readings. Linux adds up the counts of all CPUs for a reading, which may take it some
// milliseconds on a large machine. A process that moves from cgroup to cgroup makes the tracer look for each.
const (
	divideOften = 10 * time.Millisecond  // if the parts do not add up to the container's use any more
	divideAgain = 250 * time.Millisecond // otherwise
	lookAgain   = time.Second
	mostDivided = 64
)

// Divide adds to a boundary at which a window may end the parts of the memory of its process's container, as they are
// now or were a moment ago.
func (c *Containers) Divide(b *event.Boundary) {
	switch b.Kind {
	case event.CellResult, event.CellClose, event.ExperimentEnd, event.Detached, event.ProcessExit:
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
	if since := time.Since(d.at); since >= divideAgain || since >= divideOften && !fits(&d.parts, b) {
		parts, err := d.stat.Read()
		if err != nil { // the cgroup was removed
			c.Log.Debug("the parts of a container's memory", "error", err)
			d.stat.Close()
			d.stat = nil
			return
		}
		d.at = time.Now()
		d.parts = event.ContainerParts{Known: true, Anon: event.Bytes(parts.Anon), File: event.Bytes(parts.File),
			Shmem: event.Bytes(parts.Shmem), Kernel: event.Bytes(parts.Kernel)}
	}
	if fits(&d.parts, b) {
		b.Container.Parts = d.parts
	}
}

// fits reports whether parts add up to a container's use at a boundary. If not, they are of another moment: a record
// reaches the tracer after its boundary, and the next cell may have begun by then.
func fits(p *event.ContainerParts, b *event.Boundary) bool {
	const share, least = 20, 2 << 20
	off := p.Anon + p.File + p.Shmem + p.Kernel - b.Container.Usage
	return p.Known && max(off, -off) <= b.Container.Usage/share+least
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
	stat, err := cgroupstat.Open(c.FS.Proc(int(b.PID)), b.Container.Number)
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
	c.peaks.close()
}

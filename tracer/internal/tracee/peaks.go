package tracee

import (
	"log/slog"
	"maps"

	"ipytracer/event"
	"ipytracer/internal/host/cgroupstat"
)

// peaks let the highest use of containers begin again between cells (memory.peak, Linux 6.12). Linux changes one value
// for all: a descriptor that somebody else has written to would lose a height before a write here. So they write only
// where no other descriptor is watched.
type peaks struct {
	files   map[uint64]peakFile  // by the number of the cgroup
	running map[uint64]runningIn // by cell
}

// peakFile is a [cgroupstat.Peak].
type peakFile interface {
	Reset(watched uint32) error
	Close()
}

// runningIn is a cell that runs.
type runningIn struct {
	pid       int32
	container uint64
}

const (
	mostPeaks   = 64
	mostRunning = 4096
	// leastFall is by how much the use must have fallen since its highest: below that, the next cell loses hardly
	// anything if the highest does not begin again.
	leastFall = 1 << 20
)

// Hold opens memory.peak of the targets' cgroups and those around them, while this program may.
func (c *Containers) Hold(targets []*Target) {
	p := &c.peaks
	p.files, p.running = map[uint64]peakFile{}, map[uint64]runningIn{}
	for _, t := range targets {
		cgroupstat.EachPeak(c.FS.Proc(t.PID), func(number uint64, file *cgroupstat.Peak) bool {
			if len(p.files) == mostPeaks || p.files[number] != nil {
				file.Close()
				return len(p.files) < mostPeaks
			}
			p.files[number] = file
			return true
		})
	}
}

// Separate lets the highest use of a container begin again at a boundary between cells, if no cell of this session runs
// in the container: a write within a window takes the proof from the window. watched is how many descriptors Linux
// watches, see [ledger.BoundaryExtra].
func (c *Containers) Separate(b *event.Boundary, watched uint32) {
	p := &c.peaks
	switch b.Kind {
	case event.CellOpen:
		if len(p.files) > 0 && len(p.running) < mostRunning {
			p.running[b.Cell] = runningIn{b.PID, b.Container.Number}
		}
		return
	case event.CellClose:
		delete(p.running, b.Cell)
	case event.ProcessExit:
		maps.DeleteFunc(p.running, func(_ uint64, r runningIn) bool { return r.pid == b.PID })
		return
	case event.Attached:
	default:
		return
	}
	file := p.files[b.Container.Number]
	if file == nil || b.Container.Resets == 0 || b.Container.Local-b.Container.Usage < leastFall {
		return
	}
	for _, r := range p.running {
		if r.container == b.Container.Number {
			return
		}
	}
	if err := file.Reset(watched); err != nil {
		c.Log.Debug("the highest use of a container does not begin again", "pid", b.PID, slog.Any("error", err))
		file.Close()
		delete(p.files, b.Container.Number)
	}
}

func (p *peaks) close() {
	for _, file := range p.files {
		file.Close()
	}
	p.files = nil
}

package audit

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Blocks that are freed after the cell that allocated them: too late, or because the next exception replaced the last
// one.

// departures are blocks and ranges that were freed or unmapped.
type departures struct {
	// leaving are blocks that were freed after the process's last cell. If another cell follows, they were freed late;
	// if the process exits, the interpreter freed them as it cleared everything away.
	leaving map[int32]map[place]departed
	gone    map[passing]*passed
	// unmapped sums the parts of ranges that were unmapped after the run of the cell that mapped them.
	unmapped map[unmapping]event.Bytes
	failures map[int32][]*windows.Window // cells that ended with an exception, by process, in order
	dropped  int                         // blocks and tallies that found no room
}

func newDepartures() *departures {
	return &departures{leaving: map[int32]map[place]departed{}, gone: map[passing]*passed{},
		unmapped: map[unmapping]event.Bytes{}, failures: map[int32][]*windows.Window{}}
}

// lateBy is how long after its cell's end a block must be freed to count as freed late: the work of IPython after a
// cell takes less.
const lateBy = event.Nanoseconds(1e9)

// free decides whether a block was freed too late: when no cell ran, or when a later exception had taken the place of
// the one that kept the block.
func (d *departures) free(w *windows.Window, at place, b block, c *event.Change) {
	if w == nil || b.birth == nil || b.birth.Cell == nil || b.birth.Cell.IsOpen {
		return
	}
	var release *windows.Window
	if b.birth.Failed() {
		release = d.failureBetween(b.birth.Cell, c)
	}
	if w.Kind == windows.KindBetween {
		leaving := d.leaving[c.PID]
		if leaving == nil {
			leaving = map[place]departed{}
			d.leaving[c.PID] = leaving
		}
		if len(leaving) >= stacks.MaxBlocks {
			d.dropped++
			return
		}
		leaving[at] = departed{b, c.Time, release, c.Collected}
		return
	}
	switch cell := w.Birth.Cell; {
	case !b.birth.Failed() || cell == b.birth.Cell:
	case release != nil && c.Collected:
		d.pass(passing{pid: c.PID, meter: at.meter, stack: b.stack, birth: b.birth, release: release}, b, c.Time)
	default: // the statement has not ended
		d.pass(passing{c.PID, at.meter, b.stack, b.birth, cell, w.Birth}, b, c.Time)
	}
}

// fail records a cell that ended with an exception.
func (d *departures) fail(pid int32, w *windows.Window) { d.failures[pid] = append(d.failures[pid], w) }

// failureBetween returns the first cell that failed after another one had ended and before a change, nil if there is
// none. An exception is the last one, in sys and in IPython, until the next comes, and holds its frames. The frames
// refer to the exception as well: blocks that the next exception does not free at once are freed by the garbage
// collector, whenever that runs.
func (d *departures) failureBetween(cell *windows.Window, c *event.Change) *windows.Window {
	all := d.failures[c.PID]
	i, _ := slices.BinarySearchFunc(all, cell.Closed, func(f *windows.Window, closed event.Nanoseconds) int {
		return cmp.Compare(f.Closed, closed)
	})
	for ; i < len(all) && all[i].LastSegment < c.Segment; i++ {
		if all[i].Opened >= cell.Closed && all[i].Root == c.Root {
			return all[i]
		}
	}
	return nil
}

func (d *departures) pass(key passing, b block, freed event.Nanoseconds) {
	p := d.gone[key]
	if p == nil {
		if len(d.gone) >= stacks.MaxTallies {
			d.dropped++
			return
		}
		p = &passed{first: b.at}
		d.gone[key] = p
	}
	p.bytes += b.size
	p.count++
	p.first, p.last = min(p.first, b.at), max(p.last, freed)
}

// settle files the blocks of leaving: the process goes on, so they were freed late while no cell ran, or an exception
// held them.
func (d *departures) settle(pid int32) {
	for at, b := range d.leaving[pid] {
		key := passing{pid: pid, meter: at.meter, stack: b.stack, birth: b.birth}
		switch {
		case b.release != nil && (b.collected || b.freed-b.release.Closed < lateBy):
			key.release = b.release
		case b.collected, b.freed-b.birth.Cell.Closed < lateBy: // garbage, which waits for the collector, is no leak
			continue
		}
		d.pass(key, b.block, b.freed)
	}
	delete(d.leaving, pid)
}

// forget drops blocks of leaving, by process and meter.
func (d *departures) forget(which func(pid int32, m event.Meter) bool) {
	for pid, blocks := range d.leaving {
		maps.DeleteFunc(blocks, func(at place, _ departed) bool { return which(pid, at.meter) })
	}
}

// unmap records that a piece was unmapped in a later cell than the one that mapped it, or between cells.
func (d *departures) unmap(in *windows.Window, p stacks.Piece[maker], pid int32) {
	if in == nil || p.Maker.birth == nil || p.Maker.birth.Cell == nil {
		return
	}
	if in.Birth.Cell != nil {
		in = in.Birth.Cell
	}
	if in == p.Maker.birth.Cell {
		return
	}
	key := unmapping{pid, p.Maker.stack, p.Maker.birth, in}
	if _, known := d.unmapped[key]; !known && len(d.unmapped) >= stacks.MaxTallies {
		d.dropped++
		return
	}
	d.unmapped[key] += p.Size()
}

// departed is a block that was freed when no cell ran.
type departed struct {
	block
	freed     event.Nanoseconds
	release   *windows.Window // the first failed cell since its own, nil if there is none
	collected bool
}

type passed struct {
	bytes event.Bytes
	count int64
	first event.Nanoseconds // when the first was allocated
	last  event.Nanoseconds // when the last was freed
}

// unmapping is the key of a sum of unmapped ranges.
type unmapping struct {
	pid   int32
	stack uint64
	birth *windows.Birth
	in    *windows.Window // the cell in which they were unmapped, or the time between cells
}

// passing is the key of a sum of blocks that were freed too late.
type passing struct {
	pid     int32
	meter   event.Meter
	stack   uint64
	birth   *windows.Birth
	release *windows.Window // the failed cell that released them; nil: no cell ran when they were freed
	in      *windows.Birth  // where in that cell they were freed, if that has to fail for it; nil: it has failed
}

// maker is the stack that mapped a piece, and its place and time in the notebook.
type maker struct {
	stack uint64
	birth *windows.Birth
	at    event.Nanoseconds
}

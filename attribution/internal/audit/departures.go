package audit

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// departures are blocks that were freed, and ranges that were unmapped, after the cell that allocated them. A block may
// be freed late, or because a new exception replaced the one that held it.
type departures struct {
	// leaving has, by pid, the blocks that were freed after the process's last cell. If another cell follows, they were
	// freed late. If the process exits, the interpreter freed them because it cleared everything away.
	leaving map[int32]map[place]departed
	gone    map[passing]*passed // sums of the blocks that were freed late or with an exception
	// unmapped has sums of the pieces that were unmapped after the cell that mapped them.
	unmapped map[unmapping]event.Bytes
	failures map[int32][]*windows.Window // cells that ended with an exception, by process, in order
	dropped  int                         // blocks and tallies that found no room
}

func newDepartures() *departures {
	return &departures{leaving: map[int32]map[place]departed{}, gone: map[passing]*passed{},
		unmapped: map[unmapping]event.Bytes{}, failures: map[int32][]*windows.Window{}}
}

// lateBy is the least time from a cell's end to the free of a block that counts as late: IPython's own work after a
// cell takes less.
const lateBy = event.Nanoseconds(1e9)

// free takes in that a block was freed in window w. If that was after the block's cell, it is recorded: in leaving if
// no cell ran, otherwise in gone if an exception held the block until a later cell failed.
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
		d.addPassed(passing{pid: c.PID, meter: at.meter, stack: b.stack, birth: b.birth, release: release}, b, c.Time)
	default: // whether the running statement fails is not known yet
		d.addPassed(passing{c.PID, at.meter, b.stack, b.birth, cell, w.Birth}, b, c.Time)
	}
}

// fail records a cell that ended with an exception.
func (d *departures) fail(pid int32, w *windows.Window) { d.failures[pid] = append(d.failures[pid], w) }

// failureBetween returns the first cell that failed after the end of another cell and before a change, nil for none.
// sys and IPython keep the last exception, with its frames, until the next one. The frames refer to the exception as
// well: blocks that the next exception does not free at once wait for the garbage collector.
func (d *departures) failureBetween(cell *windows.Window, c *event.Change) *windows.Window {
	failures := d.failures[c.PID]
	i, _ := slices.BinarySearchFunc(failures, cell.Closed, func(f *windows.Window, closed event.Nanoseconds) int {
		return cmp.Compare(f.Closed, closed)
	})
	for ; i < len(failures) && failures[i].LastSegment < c.Segment; i++ {
		if failures[i].Opened >= cell.Closed && failures[i].Root == c.Root {
			return failures[i]
		}
	}
	return nil
}

func (d *departures) addPassed(key passing, b block, freed event.Nanoseconds) {
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

// settle moves the blocks of leaving to gone, because the process goes on: they were freed late, or an exception held
// them. Blocks that were freed soon after their cell, or by the garbage collector, are dropped.
func (d *departures) settle(pid int32) {
	for at, b := range d.leaving[pid] {
		key := passing{pid: pid, meter: at.meter, stack: b.stack, birth: b.birth}
		switch {
		case b.release != nil && (b.collected || b.freed-b.release.Closed < lateBy):
			key.release = b.release
		case b.collected, b.freed-b.birth.Cell.Closed < lateBy: // garbage that waits for the collector is no leak
			continue
		}
		d.addPassed(key, b.block, b.freed)
	}
	delete(d.leaving, pid)
}

// forget drops blocks of leaving, by process and meter.
func (d *departures) forget(which func(pid int32, m event.Meter) bool) {
	for pid, blocks := range d.leaving {
		maps.DeleteFunc(blocks, func(at place, _ departed) bool { return which(pid, at.meter) })
	}
}

// unmap records that a piece was unmapped in window, if that is not in the cell that mapped the piece.
func (d *departures) unmap(window *windows.Window, p stacks.Piece[maker], pid int32) {
	if window == nil || p.Maker.birth == nil || p.Maker.birth.Cell == nil {
		return
	}
	if window.Birth.Cell != nil {
		window = window.Birth.Cell
	}
	if window == p.Maker.birth.Cell {
		return
	}
	key := unmapping{pid, p.Maker.stack, p.Maker.birth, window}
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
	release   *windows.Window // the first cell that failed after its own, nil for none
	collected bool            // the garbage collector freed it
}

// passed sums up the blocks of one passing.
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
	in      *windows.Birth  // the statement that freed them, which counts only if it fails; nil: the cell has failed
}

// maker is the stack that mapped a piece, and its place and time in the notebook.
type maker struct {
	stack uint64
	birth *windows.Birth
	at    event.Nanoseconds
}

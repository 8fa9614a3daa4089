package attribution

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/event"
)

// What goes after the cell that made it: too late, or because an exception was not the last one any more.

// departures are blocks and ranges that went.
type departures struct {
	// leaving are blocks that were freed after the process's last cell. Should another cell follow, they were freed
	// late; should the process end, it was the interpreter that cleared everything away.
	leaving map[int32]map[place]left
	gone    map[passing]*passed
	// unmapped is what went of ranges after the run of the cell that mapped them.
	unmapped map[unmapping]event.Bytes
	failures map[int32][]*window // cells that ended with an exception, by process, in order
	dropped  int                 // blocks and tallies that found no room
}

func newDepartures() *departures {
	return &departures{leaving: map[int32]map[place]left{}, gone: map[passing]*passed{},
		unmapped: map[unmapping]event.Bytes{}, failures: map[int32][]*window{}}
}

// lateBy is how long after its cell's end a block must go to have been freed late: what IPython does after a cell takes
// less.
const lateBy = event.Nanoseconds(1e9)

// free decides whether a block went too late: when no cell ran, or because an exception was not the last one any more.
func (d *departures) free(w *window, at place, b kept, c *event.Change) {
	if w == nil || b.birth == nil || b.birth.cell == nil || b.birth.cell.isOpen {
		return
	}
	var release *window
	if b.birth.failed() {
		release = d.failureBetween(b.birth.cell, c)
	}
	if w.kind == kindBetween {
		leaving := d.leaving[c.PID]
		if leaving == nil {
			leaving = map[place]left{}
			d.leaving[c.PID] = leaving
		}
		if len(leaving) >= maxBlocks {
			d.dropped++
			return
		}
		leaving[at] = left{b, c.Time, release, c.Collected}
		return
	}
	switch cell := w.birth.cell; {
	case !b.birth.failed() || cell == b.birth.cell:
	case release != nil && c.Collected:
		d.pass(passing{pid: c.PID, meter: at.meter, stack: b.stack, birth: b.birth, release: release}, b, c.Time)
	default: // the statement has not ended
		d.pass(passing{c.PID, at.meter, b.stack, b.birth, cell, w.birth}, b, c.Time)
	}
}

// fail remembers a cell that ended with an exception.
func (d *departures) fail(pid int32, w *window) { d.failures[pid] = append(d.failures[pid], w) }

// failureBetween is the first cell that failed after another one had ended, if it has before a change. An exception is
// the last one, in sys and in IPython, until the next comes, and has its frames. They refer to it as well: what the
// next exception does not free at once goes with the garbage collector, whenever that runs.
func (d *departures) failureBetween(cell *window, c *event.Change) *window {
	all := d.failures[c.PID]
	i, _ := slices.BinarySearchFunc(all, cell.closed, func(f *window, closed event.Nanoseconds) int {
		return cmp.Compare(f.closed, closed)
	})
	for ; i < len(all) && all[i].lastSegment < c.Segment; i++ {
		if all[i].opened >= cell.closed && all[i].root == c.Root {
			return all[i]
		}
	}
	return nil
}

func (d *departures) pass(key passing, b kept, freed event.Nanoseconds) {
	p := d.gone[key]
	if p == nil {
		if len(d.gone) >= maxTallies {
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

// settle files what left: the process goes on, so what was freed when no cell ran was freed late, or an exception had
// it.
func (d *departures) settle(pid int32) {
	for at, b := range d.leaving[pid] {
		key := passing{pid: pid, meter: at.meter, stack: b.stack, birth: b.birth}
		switch {
		case b.release != nil && (b.collected || b.freed-b.release.closed < lateBy):
			key.release = b.release
		case b.collected, b.freed-b.birth.cell.closed < lateBy: // garbage, which waits for the collector, is no leak
			continue
		}
		d.pass(key, b.kept, b.freed)
	}
	delete(d.leaving, pid)
}

// forget drops what left of some processes' meters.
func (d *departures) forget(which func(pid int32, m event.Meter) bool) {
	for pid, blocks := range d.leaving {
		maps.DeleteFunc(blocks, func(at place, _ left) bool { return which(pid, at.meter) })
	}
}

// unmap remembers that a piece went in a later cell than the one that mapped it, or between cells.
func (d *departures) unmap(in *window, p piece, pid int32) {
	if in == nil || p.birth == nil || p.birth.cell == nil {
		return
	}
	if in.birth.cell != nil {
		in = in.birth.cell
	}
	if in == p.birth.cell {
		return
	}
	key := unmapping{pid, p.stack, p.birth, in}
	if _, known := d.unmapped[key]; !known && len(d.unmapped) >= maxTallies {
		d.dropped++
		return
	}
	d.unmapped[key] += p.size()
}

// left is a block that was freed when no cell ran.
type left struct {
	kept
	freed     event.Nanoseconds
	release   *window // the first failed cell since its own, nil if there is none
	collected bool
}

type passed struct {
	bytes event.Bytes
	count int64
	first event.Nanoseconds // when the first was made
	last  event.Nanoseconds // when the last was freed
}

// unmapping is what is added up of ranges that went.
type unmapping struct {
	pid   int32
	stack uint64
	birth *birth
	in    *window // the cell in which they went, or the time between
}

// passing is what is added up of blocks that went, but too late.
type passing struct {
	pid     int32
	meter   event.Meter
	stack   uint64
	birth   *birth
	release *window // the failed cell that let go of them; nil: no cell ran when they went
	in      *birth  // where in that cell they went, if that has to fail for it; nil: it has failed
}

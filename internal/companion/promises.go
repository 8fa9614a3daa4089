package companion

import (
	"ipytracer/event"
	"ipytracer/model"
)

// promises has the memory that the last look at each process promised to free: a check reports how much of it has gone
// since.
type promises map[int]promise

type promise struct {
	free   []model.Freeing
	pieces [][]event.Piece // of each entry
	memory event.Bytes     // resident memory of the process then
}

const maxPromised = 128 // processes

// keep keeps a look's promises for the next check.
func (p promises) keep(pid int, free []model.Freeing, pieces [][]event.Piece, memory event.Bytes) {
	if _, known := p[pid]; known || len(p) < maxPromised {
		p[pid] = promise{free, pieces, memory}
	}
}

// watched returns the objects of a process that a check looks for.
func (p promises) watched(pid int) (all []event.Piece) {
	for _, some := range p[pid].pieces {
		all = append(all, some...)
	}
	return all
}

// check returns the part that came back of earlier promises: still has an entry for each of the watched objects.
func (p promises) check(pid int, e *event.Looked) []model.Checked {
	return CameBack(p[pid].free, p[pid].pieces, e.Still, Fell{p[pid].memory, e.Variables.Memory})
}

// CameBack returns the part of entries that came back. It is given the largest objects of each entry, and for each of
// all these objects whether it is there still. Where an entry has more objects, these stand for all. nil: an object has
// no answer.
func CameBack(free []model.Freeing, pieces [][]event.Piece, still []bool, fell Fell) (out []model.Checked) {
	for i, f := range free {
		one := model.Checked{PID: f.PID, Type: f.Type, Predicted: f.Falls(), Device: f.Device, Exact: f.Exact}
		some := pieces[i]
		if len(still) < len(some) {
			return nil
		}
		whole, gone := 0.0, 0.0 // a recording can have any sizes
		for n, piece := range some {
			size := float64(max(piece.Size, 0))
			whole += size
			if !still[n] {
				gone += size
			}
		}
		still = still[len(some):]
		switch {
		case gone == whole:
			one.CameBack, one.Back = f.Falls(), f.Device
		case whole > 0:
			share := gone / whole
			one.CameBack, one.Back = int64(share*float64(f.Falls())), int64(share*float64(f.Device))
		}
		out = append(out, one)
	}
	fell.settle(out)
	return out
}

// Fell is the resident memory of a process before and after its user freed memory; 0: not known.
type Fell struct{ Before, After event.Bytes }

// settle corrects the bytes that came back where resident memory fell by less: each entry gives up its share of the
// difference. It ignores small differences.
func (f Fell) settle(all []model.Checked) {
	const little, part = 2 << 20, 20
	sum := int64(0)
	for _, c := range all {
		sum += c.CameBack
	}
	stays := sum - max(int64(f.Before)-int64(f.After), 0)
	if f.Before <= 0 || f.After <= 0 || stays <= max(little, sum/part) {
		return
	}
	kept := min(float64(stays)/float64(sum), 1)
	for i := range all {
		c := &all[i]
		c.Stays = int64(kept * float64(c.CameBack))
		c.CameBack -= c.Stays
	}
}

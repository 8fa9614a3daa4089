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
}

const maxPromised = 128 // processes

// keep keeps a look's promises for the next check.
func (p promises) keep(pid int, free []model.Freeing, pieces [][]event.Piece) {
	if _, known := p[pid]; known || len(p) < maxPromised {
		p[pid] = promise{free, pieces}
	}
}

// watched are the objects of a process that a check looks for.
func (p promises) watched(pid int) (all []event.Piece) {
	for _, some := range p[pid].pieces {
		all = append(all, some...)
	}
	return all
}

// check returns the part that came back of earlier promises: still has an entry for each of the watched objects.
func (p promises) check(pid int, still []bool) []model.Checked {
	return CameBack(p[pid].free, p[pid].pieces, still)
}

// CameBack returns the part of entries that came back. It is given the largest objects of each entry, and for each of
// all these objects whether it is there still. Where an entry has more objects, these stand for all. nil: an object has
// no answer.
func CameBack(free []model.Freeing, pieces [][]event.Piece, still []bool) (out []model.Checked) {
	for i, f := range free {
		one := model.Checked{PID: f.PID, Type: f.Type, Predicted: f.Predicted, Device: f.Device, Exact: f.Exact}
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
			one.CameBack, one.Back = f.Predicted, f.Device
		case whole > 0:
			share := gone / whole
			one.CameBack, one.Back = int64(share*float64(f.Predicted)), int64(share*float64(f.Device))
		}
		out = append(out, one)
	}
	return out
}

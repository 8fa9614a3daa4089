package companion

import (
	"ipytracer/event"
	"ipytracer/model"
)

// promised is what processes were said to get back, by the last look at each: a check says what has gone of it since.
type promised map[int]promise

type promise struct {
	free   []model.Freeing
	pieces [][]event.Piece // of each entry
}

const maxPromised = 128 // processes

// keep keeps what a look says for the next check.
func (p promised) keep(pid int, free []model.Freeing, pieces [][]event.Piece) {
	if _, known := p[pid]; known || len(p) < maxPromised {
		p[pid] = promise{free, pieces}
	}
}

// watched are the objects of a process that a check looks for.
func (p promised) watched(pid int) (all []event.Piece) {
	for _, some := range p[pid].pieces {
		all = append(all, some...)
	}
	return all
}

// check says what came back, of what was promised before: still has a word for each of the objects that were watched.
func (p promised) check(pid int, still []bool) []model.Checked {
	return CameBack(p[pid].free, p[pid].pieces, still)
}

// CameBack says what came back of entries, given the largest objects of each, and for each of all these whether it is
// there still. Where there are more objects than these, these stand for all. nil: there is no word for each.
func CameBack(free []model.Freeing, pieces [][]event.Piece, still []bool) (out []model.Checked) {
	for i, f := range free {
		one := model.Checked{PID: f.PID, Type: f.Type, Predicted: f.Predicted, Device: f.Device, Exact: f.Exact}
		some := pieces[i]
		if len(still) < len(some) {
			return nil
		}
		whole, gone := 0.0, 0.0 // a recording can say anything of sizes
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

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

// checked is an entry, and what came back.
type checked struct {
	Type      string `json:"type"`
	Predicted int64  `json:"predicted"`
	Device    int64  `json:"predicted_device,omitempty"`
	Exact     bool   `json:"exact"`
	// CameBack is how much of the bytes has gone, as far as its largest objects say: where there are more of them than are looked at, these stand for all.
	CameBack int64 `json:"came_back"`
	Back     int64 `json:"came_back_device,omitempty"`
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
func (p promised) check(pid int, still []bool) (out []checked) {
	before := p[pid]
	for i, f := range before.free {
		one := checked{Type: f.Type, Predicted: f.Predicted, Device: f.Device, Exact: f.Exact}
		some := before.pieces[i]
		if len(still) < len(some) {
			return nil
		}
		whole, gone := event.Bytes(0), event.Bytes(0)
		for n, piece := range some {
			whole += piece.Size
			if !still[n] {
				gone += piece.Size
			}
		}
		still = still[len(some):]
		if whole > 0 {
			share := float64(gone) / float64(whole)
			one.CameBack, one.Back = int64(share*float64(f.Predicted)), int64(share*float64(f.Device))
		}
		if gone == whole {
			one.CameBack, one.Back = f.Predicted, f.Device
		}
		out = append(out, one)
	}
	return out
}

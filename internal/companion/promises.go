package companion

import (
	"ipytracer/event"
	"ipytracer/model"
)

// promises has, by process, the memory that the entries of the last look would free. A check reports how much of it was
// freed since.
type promises map[int]promise

type promise struct {
	free   []model.Freeing
	pieces [][]event.Piece // the largest objects of each entry
	memory event.Bytes     // resident memory of the process at the look
}

const maxPromised = 128 // processes

// keep stores what a look's entries would free, for the next check.
func (p promises) keep(pid int, free []model.Freeing, pieces [][]event.Piece, memory event.Bytes) {
	if _, known := p[pid]; known || len(p) < maxPromised {
		p[pid] = promise{free, pieces, memory}
	}
}

// watched returns the objects of a process that the next check looks for.
func (p promises) watched(pid int) (all []event.Piece) {
	for _, some := range p[pid].pieces {
		all = append(all, some...)
	}
	return all
}

// check returns how much of the promised memory was freed. e.Still has an answer for each of the watched objects.
func (p promises) check(pid int, e *event.Looked) []model.Checked {
	return CameBack(p[pid].free, p[pid].pieces, e.Still, Fell{p[pid].memory, e.Variables.Memory})
}

// CameBack returns how much of each entry's memory was freed. pieces has the largest objects of each entry, and still
// says for each of all these objects whether it still exists. They stand for all objects of an entry. CameBack returns
// nil if still lacks an answer.
func CameBack(free []model.Freeing, pieces [][]event.Piece, still []bool, fell Fell) (out []model.Checked) {
	for i, f := range free {
		checked := model.Checked{PID: f.PID, Type: f.Type, Predicted: f.Falls(), Device: f.Device, Exact: f.Exact}
		objects := pieces[i]
		if len(still) < len(objects) {
			return nil
		}
		whole, gone := 0.0, 0.0 // floats cannot overflow, and recordings are hostile
		for n, object := range objects {
			size := float64(max(object.Size, 0))
			whole += size
			if !still[n] {
				gone += size
			}
		}
		still = still[len(objects):]
		switch {
		case gone == whole:
			checked.CameBack, checked.Back = f.Falls(), f.Device
		case whole > 0:
			share := gone / whole
			checked.CameBack, checked.Back = int64(share*float64(f.Falls())), int64(share*float64(f.Device))
		}
		out = append(out, checked)
	}
	fell.settle(out)
	return out
}

// Fell is the resident memory of a process before and after its user freed memory; 0 if it is not known.
type Fell struct{ Before, After event.Bytes }

// settle corrects the freed bytes if resident memory fell by less: it takes from each entry its share of the
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
	stayingShare := min(float64(stays)/float64(sum), 1)
	for i := range all {
		c := &all[i]
		c.Stays = int64(stayingShare * float64(c.CameBack))
		c.CameBack -= c.Stays
	}
}

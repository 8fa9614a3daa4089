package agent

import "ipytracer/model"

// Bounds of the experiments that are kept until a worker has asked for them.
const (
	maxOfProcess = 1024
	maxOfAll     = 1 << 13
)

// ended are the experiments of a process that have ended, until it has asked for them.
type ended struct {
	kept    []model.Window
	endings int // so far, with those that are not kept
}

// add adds one.
func (e *ended) add(w *model.Window) {
	one := *w
	one.ChildrenUnlisted, one.Children = one.ChildrenUnlisted+len(one.Children), []model.Child{}
	one.Allocations, one.Coverage, one.Refused = nil, nil, nil
	if len(e.kept) >= maxOfProcess {
		e.drop(1)
	}
	e.kept = append(e.kept, one)
	e.endings++
}

// lose takes in that n more have ended, behind those that were added.
func (e *ended) lose(n int) {
	e.kept = nil
	e.endings += n
}

// drop drops the oldest.
func (e *ended) drop(n int) {
	e.kept = append(e.kept[:0], e.kept[n:]...)
}

// after returns experiments behind the first n, as [companion.Windows] has it. Those before them have arrived, and are
// dropped.
func (e *ended) after(n, limit int) (all []model.Window, lost int) {
	n = min(max(n, 0), e.endings)
	first := e.endings - len(e.kept)
	if n > first {
		e.drop(n - first)
		first = n
	}
	return e.kept[:min(limit, len(e.kept)):min(limit, len(e.kept))], first - n
}

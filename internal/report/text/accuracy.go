package text

import "ipytracer/model"

// accuracy has the error bounds of figures that are not exact, by meter.
type accuracy struct {
	off     map[string]int64
	unknown map[string]bool // meters with figures without a bound
	vague   map[string]bool // meters with figures that can be off by more than their own size
}

// inexact records the error bounds of figures.
func (a accuracy) inexact(figures map[string]model.Figure) {
	for id, f := range figures {
		switch {
		case f.Exact:
		case f.Bound == nil:
			a.unknown[id] = true
		default:
			a.off[id] = max(a.off[id], *f.Bound)
			a.vague[id] = a.vague[id] || model.Vague(f.Peak, f.Bound) ||
				*f.Bound >= worthAGap && f.Need() != 0 && model.Vague(f.Need(), f.Bound)
		}
	}
}

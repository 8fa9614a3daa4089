package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/model/words"
)

// bareName is what people call a cell where it is known which kernel's it is, "" for none.
func bareName(w *window) string {
	if w == nil {
		return ""
	}
	return words.Cell(w.execution, w.count, w.silent)
}

// cellName is what people call a cell, "" for none.
func cellName(w *window) string {
	if w == nil {
		return ""
	}
	return words.Cell(w.execution, w.count, w.silent) + words.OfKernel(w.process.kernel())
}

// figurer makes figures of a report, of a process and of its tree, with how exact they are.
type figurer struct {
	session *session
	gpus    *gpus
	lent    *lent
}

// figureMap turns figures of a window into the report's form: its process's own, or another process's in it. w is nil
// where nothing but the probes limits exactness.
func (fg *figurer) figureMap(all figures, w *window, own, numpy bool) map[string]model.Figure {
	out := fg.lent.figures()
	shown := w
	if !own {
		shown = nil
	}
	for _, m := range fg.gpus.meters {
		if fg.gpus.shows(m, shown, numpy) {
			out[m.String()] = fg.figure(m, all.of(m), w, own)
		}
	}
	return out
}

func (fg *figurer) figure(m event.Meter, f figure, w *window, own bool) model.Figure {
	exact, bound := fg.quality(m, w)
	peak := f.highest()
	// the stream saw more than the ledger: see Proof
	if own && !slices.Contains(w.shed, m) && w.recomputed.of(m) > peak {
		exact, bound = false, widen(bound, w.recomputed.of(m)-peak)
		peak = w.recomputed.of(m)
	}
	return model.Figure{
		Start: int64(f.start), Peak: int64(peak), End: int64(f.end),
		Consumed: int64(f.end - f.start), Peaked: int64(peak - max(f.start, f.end)),
		Exact: exact, Bound: bound,
	}
}

func widen(bound *int64, by event.Bytes) *int64 {
	if bound == nil {
		return nil
	}
	wider := *bound + int64(by)
	return &wider
}

// nothing is the bound of what is exact.
var nothing int64

// quality says how good a meter's figures in a window are; a nil bound is one nobody can state.
func (fg *figurer) quality(m event.Meter, w *window) (exact bool, bound *int64) {
	exact, bound = true, &nothing
	if fg.session.start != nil {
		for _, s := range fg.session.start.Meters {
			if s.Meter == m.Template() && !s.Exact {
				exact = false
				if s.Bound < 0 {
					return false, nil
				}
				b := int64(s.Bound)
				bound = &b
			}
		}
	}
	if w == nil {
		return exact, bound
	}
	off, nobodyKnows := w.doubts.off(m)
	if slices.Contains(w.shed, m) || nobodyKnows {
		return false, nil
	}
	if off > 0 {
		exact, bound = false, widen(bound, off)
	}
	for _, kind := range m.Facts().Unknown {
		freed, off, sized := w.freed(kind)
		if freed && !sized {
			return false, nil
		}
		if freed || off > 0 {
			exact, bound = false, widen(bound, off)
		}
	}
	return exact, bound
}

// freed says whether what was freed in a window without having been seen to be made changes its figures, and by how
// many bytes they are off for that and because a meter was stepped down. sized: that can be said.
func (w *window) freed(kind event.UnknownKind) (freed bool, off event.Bytes, sized bool) {
	off = w.unsure[kind]
	if w.isOpen || w.closeFrees.Unknown[kind] <= w.openFrees.Unknown[kind] {
		return false, off, true
	}
	slack := w.closeFrees.Slack[kind] - w.openFrees.Slack[kind]
	return true, off + slack, slack > 0 && !kind.Facts().Boundless
}

func (fg *figurer) meters() []model.Meter {
	out := []model.Meter{}
	if fg.session.start == nil {
		return out
	}
	sources := fg.session.start.Meters
	for m := range event.Meter(event.MeterCount) {
		if !m.Facts().Always && !fg.gpus.used[m] {
			continue
		}
		for _, s := range sources {
			if s.Meter == m.Template() {
				exact, bound := fg.quality(m, nil)
				out = append(out, model.Meter{ID: m.String(), Unit: "bytes", Source: s.Source, Exact: exact &&
					!s.Absent, Bound: bound})
			}
		}
	}
	return out
}

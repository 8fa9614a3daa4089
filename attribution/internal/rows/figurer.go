package rows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// figurer makes the figures of a report, of a process and of its tree, and decides how exact they are.
type figurer struct {
	*windows.State
	reused *reused
}

// FigureMap returns figures of a window in the report's form: those of its own process (own), or of another one in it.
// w is nil if only the probes limit exactness.
func (fg *figurer) FigureMap(all course.Figures, w *windows.Window, own, numpy bool) map[string]model.Figure {
	out := fg.reused.figures()
	shown := w
	if !own {
		shown = nil
	}
	for _, m := range fg.GPUs.Meters {
		if fg.GPUs.Shows(m, shown, numpy) {
			out[m.String()] = fg.figure(m, all.Of(m), w, own)
		}
	}
	return out
}

func (fg *figurer) figure(m event.Meter, f course.Figure, w *windows.Window, own bool) model.Figure {
	exact, bound := fg.Quality(m, w)
	peak := f.Highest()
	// the stream has a higher value than the ledger: see Proof
	if own && !slices.Contains(w.Paused, m) && w.Recomputed.Of(m) > peak {
		exact, bound = false, widen(bound, w.Recomputed.Of(m)-peak)
		peak = w.Recomputed.Of(m)
	}
	return model.Figure{
		Start: int64(f.Start), Peak: int64(peak), End: int64(f.End),
		Consumed: int64(f.End - f.Start), Peaked: int64(peak - max(f.Start, f.End)),
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

// nothing is the bound of exact figures.
var nothing int64

// Quality returns how exact a meter's figures in a window are. A nil bound is one that cannot be stated.
func (fg *figurer) Quality(m event.Meter, w *windows.Window) (exact bool, bound *int64) {
	if fg.Session.IsCut() {
		return false, nil
	}
	exact, bound = true, &nothing
	if fg.Session.Start != nil {
		for _, s := range fg.Session.Start.Meters {
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
	off, nobodyKnows := w.Doubts.Off(m)
	if slices.Contains(w.Paused, m) || nobodyKnows {
		return false, nil
	}
	if off > 0 {
		exact, bound = false, widen(bound, off)
	}
	for _, kind := range m.Facts().Unknown {
		freed, off, sized := w.Freed(kind)
		if freed && !sized {
			return false, nil
		}
		if freed || off > 0 {
			exact, bound = false, widen(bound, off)
		}
	}
	return exact, bound
}

// Meters returns the meters of the report, with their sources.
func (fg *figurer) Meters() []model.Meter {
	out := []model.Meter{}
	if fg.Session.Start == nil {
		return out
	}
	sources := fg.Session.Start.Meters
	for m := range event.Meter(event.MeterCount) {
		if !m.Facts().Always && !fg.GPUs.Used[m] {
			continue
		}
		for _, s := range sources {
			if s.Meter == m.Template() {
				exact, bound := fg.Quality(m, nil)
				out = append(out, model.Meter{ID: m.String(), Unit: "bytes", Source: s.Source, Exact: exact &&
					!s.Absent, Bound: bound})
			}
		}
	}
	return out
}

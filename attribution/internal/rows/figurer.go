package rows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// figurer makes the figures of a report, of a process and of its tree, and decides how exact they are.
type figurer struct {
	*windows.State
	reused *reused
	start  *event.Start // the event that served is of
	served [event.CPUMeters + event.DeviceMeters]service
}

// service says how exact a meter's figures are by their source; a nil bound is unknown.
type service struct {
	exact bool
	bound *int64
}

// serviceOf returns the service of a meter.
func (fg *figurer) serviceOf(meter event.Meter) service {
	if start := fg.Session.Start; fg.start == nil || fg.start != start {
		fg.start = start
		for at := range fg.served {
			fg.served[at] = service{true, &exactBound}
		}
		if start == nil {
			return service{true, &exactBound}
		}
		for _, source := range start.Meters {
			if source.Exact || source.Meter != source.Meter.Template() || fg.served[source.Meter].bound == nil {
				continue
			}
			if fg.served[source.Meter] = (service{}); source.Bound >= 0 {
				fg.served[source.Meter].bound = new(int64(source.Bound))
			}
		}
	}
	return fg.served[meter.Template()]
}

// FigureMap returns figures in the report's form, by meter. own: they are the figures of a window's own process, not of
// another process in it. w is nil if only the probes limit exactness.
func (fg *figurer) FigureMap(figures course.Figures, w *windows.Window, own, isPython bool) map[string]model.Figure {
	out := fg.reused.figures()
	ownWindow := w
	if !own {
		ownWindow = nil
	}
	for _, m := range fg.GPUs.Meters {
		if fg.GPUs.Shows(m, ownWindow, isPython) {
			out[m.String()] = fg.figure(m, figures.Of(m), w, own)
		}
	}
	return out
}

func (fg *figurer) figure(m event.Meter, f course.Figure, w *windows.Window, own bool) model.Figure {
	exact, bound := fg.Quality(m, w)
	peak := f.Highest()
	// The change stream shows a higher value than the kernel half's ledger. The report takes the larger one.
	if own && !slices.Contains(w.Paused, m) && w.Recomputed.Of(m) > peak {
		exact, bound = false, widen(bound, w.Recomputed.Of(m)-peak)
		peak = w.Recomputed.Of(m)
	}
	return model.Figure{
		Start: int64(f.Start), Peak: int64(peak), End: int64(f.End),
		Consumed: int64(f.End - f.Start), Peaked: int64(peak - max(f.Start, f.End)),
		Exact: exact, Bound: bound, Accuracy: accuracy(m, w),
	}
}

// accuracy returns the mark of a meter's figures in a window: the process may have counted a part of them.
func accuracy(m event.Meter, w *windows.Window) string {
	if w != nil && slices.ContainsFunc(w.PausedStacks, func(g event.Group) bool { return countedBy(g, m) }) {
		return model.CountedInProcess
	}
	return ""
}

// countedBy reports whether a group stands for blocks of a meter that processes count themselves.
func countedBy(g event.Group, m event.Meter) bool {
	return g == event.CountedArrays && m == event.NumPy || g == event.CountedHeap && m == event.Heap ||
		g == event.CountedTensors && m == event.Torch
}

func widen(bound *int64, by event.Bytes) *int64 {
	if bound == nil {
		return nil
	}
	wider := *bound + int64(by)
	return &wider
}

// exactBound is the bound of exact figures.
var exactBound int64

// Quality returns whether a meter's figures in a window are exact, and the largest error in bytes. A nil bound is
// unknown.
func (fg *figurer) Quality(m event.Meter, w *windows.Window) (exact bool, bound *int64) {
	if fg.Session.IsCut() {
		return false, nil
	}
	of := fg.serviceOf(m)
	if exact, bound = of.exact, of.bound; w == nil || bound == nil {
		return exact, bound
	}
	off, unbounded := w.Doubts.Off(m)
	if slices.Contains(w.Paused, m) || unbounded {
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
				source := s.Source
				source += words.CountedSource(m, fg.Paused.Counted)
				out = append(out, model.Meter{ID: m.String(), Unit: "bytes", Source: source, Exact: exact &&
					!s.Absent, Bound: bound})
			}
		}
	}
	return out
}

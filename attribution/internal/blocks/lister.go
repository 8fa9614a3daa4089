package blocks

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Lister lists the stacks that allocated, for a report.
type Lister struct {
	*rows.Rows
	Allocations *Blocks
	Merger      *stacks.Merger
}

// AllocationsOf appends to out the allocations in a window, by stack. For each meter, it adds to coverage the part of
// the window's peak that they explain.
func (li *Lister) AllocationsOf(w *windows.Window, out []model.Allocation,
	coverage map[string]model.Coverage) []model.Allocation {
	tallies := li.Table.TalliesOf(w)
	for m, tally := range tallies {
		s := tally.Sum(li.Allocations.Holdings, course.Key{PID: w.Process.Info.PID, Meter: m}, w.MaxStacks())
		own := w.Own.Of(m)
		peak := own.Highest()
		c := model.Coverage{
			AtPeak: int64(s.Known), Rest: int64(peak - s.Known), Sampled: int64(s.Sampled),
			SampledError: int64(s.SampledError),
			Unlisted:     s.Stacks, UnlistedAtPeak: int64(s.Rest.AtPeak),
			UnlistedNet: int64(s.Rest.Allocated - s.Rest.Freed), UnlistedAllocated: int64(s.Rest.Allocated),
			Exact: peak-own.Start == tally.Highest-tally.First && own.End-own.Start == s.Net &&
				!slices.Contains(w.Paused, m) && !tally.Wrong && !w.MissesStacks(m) && !w.WasAway(m) &&
				!li.Session.IsCut(),
		}
		listed, rest := li.Merger.Divide(w.Listing(), s)
		out = slices.Grow(out, len(listed))
		for _, y := range listed {
			out = append(out, li.Allocation(w, m, y))
		}
		for _, y := range rest {
			c.Unlisted++
			c.UnlistedAtPeak += int64(y.AtPeak)
			c.UnlistedNet += int64(y.Allocated - y.Freed)
			c.UnlistedAllocated += int64(y.Allocated)
		}
		// The rest may be negative: an estimate may be too high, or the peak is a lower bound.
		if c.Sampled > 0 || slices.Contains(w.Paused, m) {
			c.Rest = max(0, c.Rest)
		}
		coverage[m.String()] = c
	}
	slices.SortFunc(out, compareAllocations)
	return out
}

// Allocation returns the row of a stack in a window.
func (li *Lister) Allocation(w *windows.Window, m event.Meter, y stacks.Sum) model.Allocation {
	stack := li.Stacks.Of(y.Stack)
	return model.Allocation{
		Meter: m.String(), Stack: li.Symbolizer.Frames(w, stack), StackTruncated: stack != nil && stack.More,
		Allocated: int64(y.Allocated), Freed: int64(y.Freed), Net: int64(y.Allocated - y.Freed),
		AtPeak: int64(y.AtPeak), Count: y.Count, Sampled: y.Sampled,
	}
}

func compareAllocations(x, y model.Allocation) int {
	if c := cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated),
		cmp.Compare(x.Meter, y.Meter)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(y.Freed, x.Freed), cmp.Compare(y.Count, x.Count))
}

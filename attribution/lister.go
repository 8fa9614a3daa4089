package attribution

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
	"ipytracer/model"
)

// lister lists the stacks that allocated, for a report.
type lister struct {
	session     *session
	processes   *processes
	table       *windowTable
	allocations *allocations
	stacks      *stackTable
	divided     *divided
	symbolizer  *symbolizer
	namespaces  *namespaces
}

// allocationsOf appends to out the allocations in a window, by stack. It adds to coverage how much of the window's
// peaks they explain.
func (li *lister) allocationsOf(w *window, out []model.Allocation,
	coverage map[string]model.Coverage) []model.Allocation {
	tallies := li.table.talliesOf(w)
	for m, all := range tallies {
		s := all.settle(li.allocations.holdings, course.Key{PID: w.process.info.PID, Meter: m}, w.keeps())
		own := w.own.Of(m)
		peak := own.Highest()
		c := model.Coverage{
			AtPeak: int64(s.known), Rest: int64(peak - s.known), Sampled: int64(s.sampled),
			Unlisted: s.stacks, UnlistedAtPeak: int64(s.rest.atPeak),
			UnlistedNet: int64(s.rest.allocated - s.rest.freed), UnlistedAllocated: int64(s.rest.allocated),
			Exact: peak-own.Start == all.highest-all.first && own.End-own.Start == s.net &&
				!slices.Contains(w.shed, m) && !all.wrong && !w.missesStacks(m) && !w.wasAway(m) &&
				!li.session.isCut(),
		}
		listed, rest := li.divided.divide(w.listing(), s)
		out = slices.Grow(out, len(listed))
		for _, y := range listed {
			out = append(out, li.allocation(w, m, y))
		}
		for _, y := range rest {
			c.Unlisted++
			c.UnlistedAtPeak += int64(y.atPeak)
			c.UnlistedNet += int64(y.allocated - y.freed)
			c.UnlistedAllocated += int64(y.allocated)
		}
		// an estimate may be above the true value, and a lower bound is below it
		if c.Sampled > 0 || slices.Contains(w.shed, m) {
			c.Rest = max(0, c.Rest)
		}
		coverage[m.String()] = c
	}
	slices.SortFunc(out, compareAllocations)
	return out
}

func (li *lister) allocation(w *window, m event.Meter, y doneTally) model.Allocation {
	stack := li.stacks.of(y.stack)
	return model.Allocation{
		Meter: m.String(), Stack: li.symbolizer.frames(w, stack), StackTruncated: stack != nil && stack.more,
		Allocated: int64(y.allocated), Freed: int64(y.freed), Net: int64(y.allocated - y.freed),
		AtPeak: int64(y.atPeak), Count: y.count, Sampled: y.sampled,
	}
}

func compareAllocations(x, y model.Allocation) int {
	if c := cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated),
		cmp.Compare(x.Meter, y.Meter)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(x.Stack, y.Stack, orderFrames); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(y.Freed, x.Freed), cmp.Compare(y.Count, x.Count))
}

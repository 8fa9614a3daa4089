package course

import (
	"cmp"
	"slices"
	"sort"

	"ipytracer/event"
)

// StraddlingKey is a meter of a process in a tree.
type StraddlingKey struct {
	Root  uint32
	PID   int32
	Meter event.Meter
}

// Straddling are the changes that were made while boundaries were being drawn: each may lie before or after the
// boundaries that it passed.
type Straddling struct {
	passedOne  map[StraddlingKey][]straddler // changes that passed one boundary, ordered by segment and value
	passedMore map[StraddlingKey][]straddler // changes that passed several boundaries: they are few
}

type straddler struct {
	segment uint64
	passed  uint64
	value   event.Bytes
	highest []event.Bytes // the highest value of 1, 2, 4 … changes from this one on
}

// NewStraddling returns no changes.
func NewStraddling() Straddling {
	return Straddling{map[StraddlingKey][]straddler{}, map[StraddlingKey][]straddler{}}
}

// Add adds a change.
func (all Straddling) Add(root uint32, c *event.Change) {
	changes := all.passedOne
	if c.Passed > 1 {
		changes = all.passedMore
	}
	key := StraddlingKey{root, c.PID, c.Meter}
	changes[key] = append(changes[key], straddler{segment: c.Segment, passed: uint64(c.Passed), value: c.Highest()})
}

// Order prepares the changes that were added for [Straddling.Recomputed].
func (all Straddling) Order() {
	for _, changes := range all.passedOne {
		slices.SortFunc(changes, func(a, b straddler) int {
			return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.value, b.value))
		})
		for i := range changes {
			changes[i].highest = []event.Bytes{changes[i].value}
		}
		for step := 1; step < len(changes); step *= 2 {
			for i := 0; i+2*step <= len(changes); i++ {
				n := len(changes[i].highest) - 1
				changes[i].highest = append(changes[i].highest, max(changes[i].highest[n], changes[i+step].highest[n]))
			}
		}
	}
}

// Recomputed returns the peak of a window by the change stream. The window has the segments from first to last. peak is
// its peak without the straddling changes, kernel the peak of the kernel's ledger. If a change may lie outside of the
// window, it counts only if that agrees with the kernel's peak.
func (all Straddling) Recomputed(key StraddlingKey, first, last uint64, peak, kernel event.Bytes) event.Bytes {
	changes, more := all.passedOne[key], all.passedMore[key]
	if peak == kernel || len(changes)+len(more) == 0 {
		return peak
	}
	firstFrom := func(segment uint64) int {
		return sort.Search(len(changes), func(i int) bool { return changes[i].segment >= segment })
	}
	if last < first {
		return peak
	}
	if first < last { // changes whose boundary is within the window
		peak = max(peak, highestOf(changes, firstFrom(first), firstFrom(last)))
	}
	for _, edge := range []uint64{first - 1, last} { // changes whose boundary is the window's first or last
		begin, end := firstFrom(edge), firstFrom(edge+1)
		if n := sort.Search(end-begin, func(i int) bool { return changes[begin+i].value > kernel }); n > 0 {
			peak = max(peak, changes[begin+n-1].value)
		}
	}
	for _, c := range more {
		within := c.segment >= first && c.segment+c.passed <= last
		if within || c.segment <= last && c.segment+c.passed >= first && c.value <= kernel {
			peak = max(peak, c.value)
		}
	}
	return peak
}

// highestOf returns the highest value in [begin, end), 0 for none.
func highestOf(changes []straddler, begin, end int) (highest event.Bytes) {
	for begin < end {
		n := len(changes[begin].highest) - 1
		for n > 0 && begin+1<<n > end {
			n--
		}
		highest = max(highest, changes[begin].highest[n])
		begin += 1 << n
	}
	return highest
}

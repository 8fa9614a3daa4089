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

// Straddling are the changes that were made while boundaries were being drawn. A change may have passed one or several.
type Straddling struct {
	one  map[StraddlingKey][]straddler // passed one boundary: by segment and value
	more map[StraddlingKey][]straddler // passed several: these are few
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
	of := all.one
	if c.Passed > 1 {
		of = all.more
	}
	key := StraddlingKey{root, c.PID, c.Meter}
	of[key] = append(of[key], straddler{segment: c.Segment, passed: uint64(c.Passed), value: c.Highest()})
}

// Order prepares the changes that were added for [Straddling.Recomputed].
func (all Straddling) Order() {
	for _, of := range all.one {
		slices.SortFunc(of, func(a, b straddler) int {
			return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.value, b.value))
		})
		for i := range of {
			of[i].highest = []event.Bytes{of[i].value}
		}
		for step := 1; step < len(of); step *= 2 {
			for i := 0; i+2*step <= len(of); i++ {
				n := len(of[i].highest) - 1
				of[i].highest = append(of[i].highest, max(of[i].highest[n], of[i+step].highest[n]))
			}
		}
	}
}

// Recomputed returns the peak of a window of the segments from first to last by the change stream, given the peak
// without these changes and the kernel's. A change that was made while a boundary was being drawn may
// be on either side of it. Where the side decides, the change counts on the side that agrees with the kernel's peak.
func (all Straddling) Recomputed(key StraddlingKey, first, last uint64, peak, kernel event.Bytes) event.Bytes {
	of, more := all.one[key], all.more[key]
	if peak == kernel || len(of)+len(more) == 0 {
		return peak
	}
	at := func(segment uint64) int {
		return sort.Search(len(of), func(i int) bool { return of[i].segment >= segment })
	}
	if last < first {
		return peak
	}
	if first < last { // segments that have both sides within the window
		peak = max(peak, highestOf(of, at(first), at(last)))
	}
	for _, edge := range []uint64{first - 1, last} { // segments that have one side within it
		begin, end := at(edge), at(edge+1)
		if n := sort.Search(end-begin, func(i int) bool { return of[begin+i].value > kernel }); n > 0 {
			peak = max(peak, of[begin+n-1].value)
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
func highestOf(of []straddler, begin, end int) (highest event.Bytes) {
	for begin < end {
		n := len(of[begin].highest) - 1
		for n > 0 && begin+1<<n > end {
			n--
		}
		highest = max(highest, of[begin].highest[n])
		begin += 1 << n
	}
	return highest
}

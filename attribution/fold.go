package attribution

import "ipytracer/event"

// A segment may have millions of changes. Of each meter they are kept as a chart of so many columns would show them: the first and the
// last value of each column of time, the lowest and the highest. The columns get wider as the segment goes on.

// foldColumns is how many columns a segment has at most.
const foldColumns = 32

// moment is a value that a change told.
type moment struct {
	at    event.Nanoseconds
	bytes event.Bytes
	fell  bool // and that the meter fell from
}

// column is what a meter did in a stretch of time.
type column struct {
	first, least, most, last moment
	any                      bool
}

// fold is what a meter did in a segment.
type fold struct {
	segment uint64
	origin  event.Nanoseconds
	shift   uint // a column is 2^shift nanoseconds wide
	columns []column
}

// add takes in one more value. A thread may tell what it saw before what another has told: the first column has what is earlier than it.
func (f *fold) add(m moment) {
	i := uint64(max(0, m.at-f.origin)) >> f.shift
	for ; i >= foldColumns; i >>= 1 {
		f.widen()
	}
	for uint64(len(f.columns)) <= i {
		f.columns = append(f.columns, column{})
	}
	c := &f.columns[i]
	if !c.any {
		*c = column{m, m, m, m, true}
		return
	}
	c.last = m
	if m.bytes < c.least.bytes {
		c.least = m
	}
	if m.bytes > c.most.bytes {
		c.most = m
	}
}

// widen makes one column of every two.
func (f *fold) widen() {
	f.shift++
	for i := range f.columns {
		switch c, into := f.columns[i], &f.columns[i/2]; {
		case i%2 == 0 || !into.any:
			*into = c
		case c.any:
			into.last = c.last
			if c.least.bytes < into.least.bytes {
				into.least = c.least
			}
			if c.most.bytes > into.most.bytes {
				into.most = c.most
			}
		}
	}
	f.columns = f.columns[:(len(f.columns)+1)/2]
}

// moments are all that are kept, in order of time.
func (f *fold) moments(out []moment) []moment {
	for i := range f.columns {
		c := &f.columns[i]
		if !c.any {
			continue
		}
		one, other := c.least, c.most
		if other.at < one.at {
			one, other = other, one
		}
		for _, m := range [...]moment{c.first, one, other, c.last} {
			if n := len(out); n == 0 || out[n-1] != m {
				out = append(out, m)
			}
		}
	}
	return out
}

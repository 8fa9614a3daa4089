package timeline

import "ipytracer/event"

// A segment may have millions of changes. For each meter a fold keeps them at the resolution of a chart: the lowest and
// the highest value in each of a number of columns of time. The columns get wider as the segment goes on.

const (
	FoldColumns = 64 // the most columns of a segment
	firstShift  = 20 // columns are 2^20 ns wide at first: no chart of a session shows anything shorter
)

// Moment is a meter's value at a change.
type Moment struct {
	At    event.Nanoseconds
	Bytes event.Bytes
	Fell  bool // the meter fell from this value
}

// column is the lowest and the highest value of a meter in a stretch of time.
type column struct {
	least, most Moment
	any         bool
}

// fold is the values of a meter in a segment.
type fold struct {
	segment uint64
	origin  event.Nanoseconds
	shift   uint // a column is 2^shift nanoseconds wide
	columns []column
}

// add adds one value. Threads may report values out of order, so the first column also takes values from before its
// beginning.
func (f *fold) add(m Moment) {
	i := uint64(max(0, m.At-f.origin)) >> f.shift
	for ; i >= FoldColumns; i >>= 1 {
		f.widen()
	}
	for uint64(len(f.columns)) <= i {
		f.columns = append(f.columns, column{})
	}
	f.columns[i].with(column{m, m, true})
}

// with adds the values of another stretch.
func (c *column) with(other column) {
	if !c.any {
		*c = other
		return
	}
	if other.least.Bytes < c.least.Bytes {
		c.least = other.least
	}
	if other.most.Bytes > c.most.Bytes {
		c.most = other.most
	}
}

// widen merges each two columns into one.
func (f *fold) widen() {
	f.shift++
	for i, c := range f.columns {
		f.columns[i] = column{}
		if c.any {
			f.columns[i/2].with(c)
		}
	}
	f.columns = f.columns[:(len(f.columns)+1)/2]
}

// moments appends all values that are kept, in order of time.
func (f *fold) moments(out []Moment) []Moment {
	for i := range f.columns {
		c := &f.columns[i]
		if !c.any {
			continue
		}
		one, other := c.least, c.most
		if other.At < one.At {
			one, other = other, one
		}
		if out = append(out, one); other != one {
			out = append(out, other)
		}
	}
	return out
}

// Limits on the folds kept.
const (
	maxColumns    = 1 << 16
	maxFolds      = 4  // of a track, for segments that are not over
	maxSpareFolds = 32 // columns of folds, to be reused
)

// foldMemory is the memory for the folds of all tracks.
type foldMemory struct {
	columns int // of all folds
	spare   [][]column
	moments []Moment
}

// hasRoom reports whether there is room for one more fold.
func (f *foldMemory) hasRoom() bool { return f.columns < maxColumns }

// fold returns a new fold, with its first value.
func (f *foldMemory) fold(segment uint64, m Moment) fold {
	one := fold{segment: segment, origin: m.At, shift: firstShift}
	if n := len(f.spare); n > 0 {
		one.columns, f.spare = f.spare[n-1], f.spare[:n-1]
	}
	one.add(m)
	f.columns++
	return one
}

// add adds one value to a fold.
func (f *foldMemory) add(to *fold, m Moment) {
	before := len(to.columns)
	to.add(m)
	f.columns += len(to.columns) - before
}

// free takes back the memory of a fold.
func (f *foldMemory) free(of *fold) {
	f.columns -= len(of.columns)
	if len(f.spare) < maxSpareFolds {
		f.spare = append(f.spare, of.columns[:0])
	}
}

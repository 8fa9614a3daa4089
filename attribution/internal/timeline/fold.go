package timeline

import "ipytracer/event"

// A segment may have millions of changes. For each meter a fold keeps them at the resolution of a chart: the lowest and
// the highest value in each column of time. The columns get wider as the segment goes on.

const (
	FoldColumns = 64 // the largest number of columns of a segment
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
	hasValue    bool
}

// fold has the values of a meter in a segment.
type fold struct {
	segment uint64
	origin  event.Nanoseconds
	shift   uint // a column is 2^shift nanoseconds wide
	columns []column
}

// add adds one value. Threads may report values out of order: the first column also takes values from before its
// beginning.
func (f *fold) add(m Moment) {
	i := uint64(max(0, m.At-f.origin)) >> f.shift
	for ; i >= FoldColumns; i >>= 1 {
		f.widen()
	}
	for uint64(len(f.columns)) <= i {
		f.columns = append(f.columns, column{})
	}
	f.columns[i].merge(column{m, m, true})
}

// merge adds the values of another stretch.
func (c *column) merge(other column) {
	if !c.hasValue {
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
		if c.hasValue {
			f.columns[i/2].merge(c)
		}
	}
	f.columns = f.columns[:(len(f.columns)+1)/2]
}

// moments appends all values that are kept, in order of time.
func (f *fold) moments(out []Moment) []Moment {
	for i := range f.columns {
		c := &f.columns[i]
		if !c.hasValue {
			continue
		}
		first, second := c.least, c.most
		if second.At < first.At {
			first, second = second, first
		}
		if out = append(out, first); second != first {
			out = append(out, second)
		}
	}
	return out
}

// Limits on the folds kept.
const (
	maxColumns    = 1 << 16
	maxFolds      = 4  // folds of a track, for segments that are not over
	maxSpareFolds = 32 // lists of columns that are kept for reuse
)

// foldMemory is the memory for the folds of all tracks.
type foldMemory struct {
	columns int // number of columns of all folds
	spare   [][]column
	moments []Moment
}

// hasRoom reports whether there is room for one more fold.
func (f *foldMemory) hasRoom() bool { return f.columns < maxColumns }

// fold returns a new fold, with its first value.
func (f *foldMemory) fold(segment uint64, m Moment) fold {
	added := fold{segment: segment, origin: m.At, shift: firstShift}
	if n := len(f.spare); n > 0 {
		added.columns, f.spare = f.spare[n-1], f.spare[:n-1]
	}
	added.add(m)
	f.columns++
	return added
}

// add adds one value to a fold.
func (f *foldMemory) add(target *fold, m Moment) {
	before := len(target.columns)
	target.add(m)
	f.columns += len(target.columns) - before
}

// free takes back the memory of a fold.
func (f *foldMemory) free(unused *fold) {
	f.columns -= len(unused.columns)
	if len(f.spare) < maxSpareFolds {
		f.spare = append(f.spare, unused.columns[:0])
	}
}

package contents

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// Bounds of adding up the columns of the data frames of one listing. Where one is hit, bytes are lower bounds.
const (
	leastFrame     = 1 << 20   // bytes that a frame must hold or reach, for its columns to be listed
	maxColumns     = 1 << 12   // columns of a frame, for them to be listed
	keptColumns    = 8         // columns of a frame in the result: those that take most
	maxShareds     = 1 << 21   // objects of a column to which others refer, too: 32 MiB
	columnsBytes   = 512 << 20 // bytes read from the process
	columnsChecked = 1 << 12   // elements between two looks at the time
	maxColumnName  = 64        // bytes
)

// columns adds up each column of data frames: its elements and, for objects, their own memory, each object once in a
// column.
type columns struct {
	*objects.Sizer
	inspector *Inspector    // nil where elements of arrays are not asked for
	until     time.Duration // the ProcessorTime at which adding up stops
	over      bool          // the time is over
	index     objects.Index // of shared
	shared    []uint64      // the objects of a column to which others refer, too
}

// column is a column of a data frame, with the array of its elements.
type column struct {
	event.Column
	array uint64 // 0 for none
	row   int64  // the row of array that has the elements, objects.Whole for all of array
}

// NewColumns returns columns for the frames of a listing. It allows columnsBytes of further reads.
func NewColumns(s *objects.Sizer, in *Inspector) *columns {
	s.Mem.Limit += columnsBytes
	return &columns{Sizer: s, inspector: in, until: objects.ProcessorTime() + s.Limits.Elements}
}

// Describe fills in the columns of a large data frame. It does nothing for other objects.
func (c *columns) Describe(r *event.Variable, frame uint64) {
	t := c.ObjectType(frame)
	if t == nil || max(r.Bytes, r.Reaches) < leastFrame || !c.Lineage(t).Is("DataFrame") || len(r.Shape) != 2 ||
		r.Shape[1] > maxColumns {
		return
	}
	axes, blocks := objects.Managed(c.Sizer, c.Attribute(frame, t, "_mgr"))
	cols := make([]column, r.Shape[1])
	placed := make([]bool, len(cols))
	for _, block := range c.Tuple(blocks, maxColumns) {
		if !c.block(block, cols, placed) {
			return
		}
	}
	if slices.Contains(placed, false) {
		return
	}
	c.names(cols, c.Mem.Word(c.Mem.Word(axes+uint64(c.Heap.ListItems))))
	slices.SortStableFunc(cols, func(a, b column) int { return cmp.Compare(b.Bytes, a.Bytes) })
	kept := min(len(cols), keptColumns)
	for _, col := range cols[:kept] {
		r.Columns = append(r.Columns, col.Column)
	}
	c.inspector.columns(r, cols[:kept])
	for _, col := range cols[kept:] {
		r.MoreColumns, r.RestColumns = r.MoreColumns+1, r.RestColumns+col.Bytes
	}
}

// block fills in the columns of a block, and marks them in placed. In a NumPy array each row is a column; an extension
// array is a single column. It returns false for anything that is no block, or that disagrees with the earlier ones.
func (c *columns) block(block uint64, cols []column, placed []bool) bool {
	var places []int
	var values uint64
	c.Fields(block, func(word uint64, t *objects.Type) {
		switch {
		case strings.HasSuffix(t.Name, "BlockPlacement"):
			places = c.places(word, len(cols))
		case values == 0 && (t.Shape == objects.ShapeArray || c.isExtension(t)):
			values = word
		}
	})
	t := c.ObjectType(values)
	if t == nil || len(places) == 0 {
		return false
	}
	for _, at := range places {
		if placed[at] {
			return false
		}
		placed[at] = true
	}
	if t.Shape != objects.ShapeArray {
		extension := c.extension(values, t)
		extension.Bytes /= event.Bytes(len(places))
		array := c.Backing(values, t)
		for i, at := range places {
			cols[at] = column{extension, array, c.RowOf(array, i)}
		}
		return true
	}
	a := c.ReadArray(values)
	if len(a.Shape) != 2 || a.Shape[0] != int64(len(places)) {
		return false
	}
	for i, at := range places {
		cols[at] = column{c.row(values, a, i), values, int64(i)}
	}
	return true
}

// row returns the column that is row i of a block's array.
func (c *columns) row(array uint64, a objects.ArrayFields, i int) event.Column {
	out := event.Column{DType: a.DType, Bytes: event.Bytes(a.Bytes / uint64(max(1, a.Shape[0]))), Exact: a.Known}
	if a.DType == "object" {
		at := c.Mem.Word(array + objects.ArrayStrides)
		first := c.Mem.Word(array+objects.ArrayData) + uint64(i)*c.Mem.Word(at)
		bytes, known := c.objects(first, c.Mem.Word(at+8), a.Shape[1])
		out.Bytes, out.Exact = out.Bytes+event.Bytes(bytes), out.Exact && known
	}
	return out
}

// objects adds up the memory of objects, each once. The count references to them begin at an address, and lie stride
// bytes apart. known is false where there may be more memory.
func (c *columns) objects(at, stride uint64, count int64) (bytes uint64, known bool) {
	known = true
	c.shared = c.shared[:0]
	c.index.Used = 0
	clear(c.index.Slots)
	for i := int64(0); i < count; i++ {
		if i%columnsChecked == 0 && (objects.ProcessorTime() > c.until || c.Mem.Err != nil) {
			c.over = true
		}
		if c.over {
			return bytes, false
		}
		object := c.Mem.Word(at)
		at += stride
		t := c.ObjectType(object)
		if t == nil {
			known = known && object == 0
			continue
		}
		if uint32(c.References(object)) != 1 { // the column may have the object several times
			if _, met := c.index.Get(object, c.shared); met {
				continue
			}
			if len(c.shared) == maxShareds {
				known = false
				continue
			}
			c.shared = append(c.shared, object)
			c.index.Put(object, int32(len(c.shared)-1), c.shared)
		}
		size, ok := c.Measure(object, t)
		bytes, known = bytes+size, known && ok
	}
	return bytes, known
}

// places returns the columns that a BlockPlacement stands for, in the order of a block's rows. A placement has a slice,
// or an array of numbers (pandas/_libs/internals.pyx). count is the number of columns of the frame.
func (c *columns) places(placement uint64, count int) (out []int) {
	c.Fields(placement, func(word uint64, t *objects.Type) {
		switch {
		case len(out) > 0:
		case t.Name == "slice":
			out = c.slicePlaces(word, count)
		case t.Shape == objects.ShapeArray:
			a := c.ReadArray(word)
			if len(a.Shape) != 1 || a.DType != "int64" || a.Shape[0] > int64(count) {
				return
			}
			c.Mem.Words(c.Mem.Word(word+objects.ArrayData), uint64(a.Shape[0]), func(_, n uint64) bool {
				out = append(out, int(n))
				return true
			})
		}
	})
	if slices.ContainsFunc(out, func(n int) bool { return n < 0 || n >= count }) {
		return nil
	}
	return out
}

// slicePlaces returns the numbers of a slice of at most count numbers; step may be None, and so may stop where the
// slice counts down.
func (c *columns) slicePlaces(slice uint64, count int) (out []int) {
	const start, stop, step = 16, 24, 32
	from, hasStart := c.Integer(c.Mem.Word(slice + start))
	to, hasStop := c.Integer(c.Mem.Word(slice + stop))
	by, hasStep := c.Integer(c.Mem.Word(slice + step))
	if !hasStep || !c.IsNumber(c.Mem.Word(slice+step)) {
		by = 1
	}
	if by < 0 && !c.IsNumber(c.Mem.Word(slice+stop)) {
		to, hasStop = -1, true
	}
	if !hasStart || !hasStop || by == 0 {
		return nil
	}
	for n := from; len(out) < count && (by > 0 && n < to || by < 0 && n > to); n += by {
		out = append(out, int(n))
	}
	return out
}

// isExtension reports whether a type is pandas' type of an extension array. It goes by the name, because such types
// have several bases, and the first need not be pandas' own.
func (c *columns) isExtension(t *objects.Type) bool {
	return t.Shape != objects.ShapeArray && t.Flags&cpython.FlagHeapType != 0 &&
		(t.Name == "Categorical" || strings.HasSuffix(t.Name, "Array"))
}

// extensionTypes has pandas' names of the dtypes of its extension arrays, by the type of the array.
var extensionTypes = map[string]string{
	"Categorical": "category", "StringArray": "string", "ArrowStringArray": "string",
	"ArrowStringArrayNumpySemantics": "str", "StringArrayNumpySemantics": "str",
	"ArrowExtensionArray": "Arrow", "BooleanArray": "boolean", "DatetimeArray": "datetime64",
	"TimedeltaArray": "timedelta64", "PeriodArray": "period",
	"IntervalArray": "interval", "SparseArray": "sparse",
}

// extension returns the column of an extension array. Its memory is that of its NumPy arrays, their objects and Arrow's
// buffers, with those of its parts.
func (c *columns) extension(addr uint64, t *objects.Type) event.Column {
	out := event.Column{DType: extensionTypes[t.Name], Exact: true}
	bytes, dtype := c.parts(addr, 0, map[uint64]bool{}, &out.Exact)
	out.Bytes = event.Bytes(bytes)
	if out.DType == "" && (t.Name == "IntegerArray" || t.Name == "FloatingArray") {
		out.DType = maskedType(dtype)
	}
	return out
}

// maskedType returns pandas' name of a dtype of numbers that may be missing: Int64 for int64, UInt8 for uint8.
func maskedType(dtype string) string {
	if dtype == "" {
		return ""
	}
	return strings.Replace(strings.ToUpper(dtype[:1])+dtype[1:], "Uint", "UInt", 1)
}

// parts adds up the memory of an extension array and its parts, except parts that were seen. It clears exact where
// there may be more memory. dtype is that of the first NumPy array.
func (c *columns) parts(addr uint64, depth int, seen map[uint64]bool, exact *bool) (bytes uint64, dtype string) {
	const deepest, maxSeen = 4, 64
	if depth > deepest || len(seen) > maxSeen {
		return 0, ""
	}
	addPart := func(word uint64, t *objects.Type) {
		switch {
		case seen[word]:
		case t.Shape == objects.ShapeArray:
			seen[word] = true
			a := c.ReadArray(word)
			if len(a.Shape) == 0 || a.DType == "" {
				return
			}
			dtype = cmp.Or(dtype, a.DType)
			bytes += a.Bytes
			*exact = *exact && a.Known
			if a.DType == "object" && len(a.Shape) == 1 {
				more, known := c.objects(c.Mem.Word(word+objects.ArrayData),
					c.Mem.Word(c.Mem.Word(word+objects.ArrayStrides)), a.Shape[0])
				bytes, *exact = bytes+more, *exact && known
			}
		case t.Arrow:
			seen[word] = true
			more, known := objects.ArrowBuffers(c.Sizer, word, t)
			bytes, *exact = bytes+more, *exact && known
		case c.isExtension(t) || c.Lineage(t).Is("Index") || t.Name == "CategoricalDtype":
			seen[word] = true
			more, partType := c.parts(word, depth+1, seen, exact)
			bytes, dtype = bytes+more, cmp.Or(dtype, partType)
		}
	}
	c.Fields(addr, addPart)
	return bytes, dtype
}

// names fills in the names of columns, from the index that is the first axis. A column whose name cannot be read is
// called "column" and its number.
func (c *columns) names(cols []column, index uint64) {
	for i := range cols {
		cols[i].Name = "column " + strconv.Itoa(i)
	}
	array := c.IndexArray(index, 0)
	a := c.ReadArray(array)
	t := c.ObjectType(index)
	switch {
	case t != nil && c.Lineage(t).Is("RangeIndex"):
		c.ranged(cols, c.Attribute(index, t, "_range"))
	case len(a.Shape) != 1 || a.Shape[0] != int64(len(cols)):
	default:
		at, stride := c.Mem.Word(array+objects.ArrayData), c.Mem.Word(c.Mem.Word(array+objects.ArrayStrides))
		for i := range cols {
			word := c.Mem.Word(at + uint64(i)*stride)
			switch a.DType {
			case "object":
				if text, ok := c.Text(word, maxColumnName); ok {
					cols[i].Name = text
				} else if c.ObjectType(word) != nil {
					cols[i].Name = c.Key(word, 0)
				}
			case "int64":
				cols[i].Name = strconv.FormatInt(int64(word), 10)
			}
		}
	}
}

// ranged names columns by the numbers of a range.
func (c *columns) ranged(cols []column, numbers uint64) {
	const start, step = 16, 32 // start, stop, step, length: Objects/rangeobject.c
	from, hasStart := c.Integer(c.Mem.Word(numbers + start))
	by, hasStep := c.Integer(c.Mem.Word(numbers + step))
	if !hasStart || !hasStep {
		return
	}
	for i := range cols {
		cols[i].Name = strconv.FormatInt(from+int64(i)*by, 10)
	}
}

// columns notes the columns of a data frame whose elements are to be read. It does nothing for a nil inspector.
func (in *Inspector) columns(r *event.Variable, cols []column) {
	if in == nil {
		return
	}
	for i, col := range cols {
		if col.array == 0 {
			continue
		}
		if place, ok := in.placer.Array(col.array, col.row); ok {
			in.want(r.Name+"["+objects.Quote(col.Name)+"]", &r.Columns[i].Contents, place, leastOfColumn)
		}
	}
}

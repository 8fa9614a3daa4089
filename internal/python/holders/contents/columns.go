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

// Bounds of adding up the columns of data frames. They are of a listing, all its frames together; columns beyond them
// are not added up, and then bytes are the least.
const (
	leastFrame     = 1 << 20   // bytes that a frame must hold or reach
	maxColumns     = 1 << 12   // of a frame; one with more has none
	keptColumns    = 8         // of a frame: those that take most
	maxShareds     = 1 << 21   // objects of a column that others have as well: 32 MiB
	columnsBytes   = 512 << 20 // read from the process
	columnsChecked = 1 << 12   // elements between two looks at the time
	maxColumnName  = 64        // bytes
)

// columns adds up each column of data frames: its elements and, of objects, their own memory, each once in a column.
type columns struct {
	*objects.Sizer
	inspector *Inspector    // nil where elements of arrays are not asked for
	until     time.Duration // processor time
	over      bool          // there was no more time
	index     objects.Index // of objects that others have as well
	shared    []uint64      // these
}

// column is a column of a data frame, and the array that has its elements, or a row of that.
type column struct {
	event.Column
	array uint64 // 0 for none
	row   int64
}

// NewColumns returns columns without any objects yet. It allows further reads for them.
func NewColumns(s *objects.Sizer, in *Inspector) *columns {
	s.Mem.Limit += columnsBytes
	return &columns{Sizer: s, inspector: in, until: objects.ProcessorTime() + s.Limits.Elements}
}

// Describe fills in the columns of a data frame. An object that does not look like one has none.
func (c *columns) Describe(r *event.Variable, frame uint64) {
	t := c.ObjectType(frame)
	if t == nil || max(r.Bytes, r.Reaches) < leastFrame || !c.Lineage(t).Is("DataFrame") || len(r.Shape) != 2 ||
		r.Shape[1] > maxColumns {
		return
	}
	axes, blocks := objects.Managed(c.Sizer, c.Attribute(frame, t, "_mgr"))
	all := make([]column, r.Shape[1])
	placed := make([]bool, len(all))
	for _, block := range c.Tuple(blocks, maxColumns) {
		if !c.block(block, all, placed) {
			return
		}
	}
	if slices.Contains(placed, false) {
		return
	}
	c.names(all, c.Mem.Word(c.Mem.Word(axes+uint64(c.Heap.ListItems))))
	slices.SortStableFunc(all, func(a, b column) int { return cmp.Compare(b.Bytes, a.Bytes) })
	kept := min(len(all), keptColumns)
	for _, one := range all[:kept] {
		r.Columns = append(r.Columns, one.Column)
	}
	c.inspector.columns(r, all[:kept])
	for _, one := range all[kept:] {
		r.MoreColumns, r.RestColumns = r.MoreColumns+1, r.RestColumns+one.Bytes
	}
}

// block fills in the columns of a block: of a NumPy array each row is a column, an object of an extension's type is
// one. It is false for anything that is no block, or disagrees with the earlier ones.
func (c *columns) block(block uint64, all []column, placed []bool) bool {
	var places []int
	var values uint64
	c.Fields(block, func(word uint64, t *objects.Type) {
		switch {
		case strings.HasSuffix(t.Name, "BlockPlacement"):
			places = c.places(word, len(all))
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
		one := c.extension(values, t)
		one.Bytes /= event.Bytes(len(places))
		array := c.Backing(values, t)
		for i, at := range places {
			all[at] = column{one, array, c.RowOf(array, i)}
		}
		return true
	}
	a := c.ReadArray(values)
	if len(a.Shape) != 2 || a.Shape[0] != int64(len(places)) {
		return false
	}
	for i, at := range places {
		all[at] = column{c.row(values, a, i), values, int64(i)}
	}
	return true
}

// row is a row of a block's array.
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

// objects adds up the memory of objects, each once. The references to them lie stride bytes apart. known is false where
// it may be more.
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
		if uint32(c.References(object)) != 1 { // it may come again
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

// places are the columns that a BlockPlacement stands for, in the order of a block's rows: a slice or an array of
// numbers (pandas/_libs/internals.pyx).
func (c *columns) places(placement uint64, count int) (out []int) {
	const start, stop, step = 16, 24, 32
	c.Fields(placement, func(word uint64, t *objects.Type) {
		switch {
		case len(out) > 0:
		case t.Name == "slice":
			from, ok := c.Integer(c.Mem.Word(word + start))
			to, also := c.Integer(c.Mem.Word(word + stop))
			by, stepped := c.Integer(c.Mem.Word(word + step))
			if !stepped || !c.IsNumber(c.Mem.Word(word+step)) { // None
				by = 1
			}
			if down := by < 0 && !c.IsNumber(c.Mem.Word(word+stop)); down {
				to, also = -1, true
			}
			for n := from; ok && also && by != 0 && len(out) < count &&
				(by > 0 && n < to || by < 0 && n > to); n += by {
				out = append(out, int(n))
			}
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

// isExtension reports whether a type is one of an extension array's: they have several bases, of which a type's first
// need not be their own.
func (c *columns) isExtension(t *objects.Type) bool {
	return t.Shape != objects.ShapeArray && t.Flags&cpython.FlagHeapType != 0 &&
		(t.Name == "Categorical" || strings.HasSuffix(t.Name, "Array"))
}

// extensionTypes are how pandas calls the dtypes of its own arrays.
var extensionTypes = map[string]string{
	"Categorical": "category", "StringArray": "string", "ArrowStringArray": "string",
	"ArrowStringArrayNumpySemantics": "str", "StringArrayNumpySemantics": "str",
	"ArrowExtensionArray": "Arrow", "BooleanArray": "boolean", "DatetimeArray": "datetime64",
	"TimedeltaArray": "timedelta64", "PeriodArray": "period",
	"IntervalArray": "interval", "SparseArray": "sparse",
}

// extension returns the memory of an extension array: its arrays, those of its parts, their objects and the buffers of
// Arrow's.
func (c *columns) extension(addr uint64, t *objects.Type) event.Column {
	out := event.Column{DType: extensionTypes[t.Name], Exact: true}
	bytes, dtype := c.parts(addr, 0, map[uint64]bool{}, &out.Exact)
	out.Bytes = event.Bytes(bytes)
	if out.DType == "" && (t.Name == "IntegerArray" || t.Name == "FloatingArray") { // Int64, UInt8, Float32
		out.DType = strings.Replace(strings.ToUpper(dtype[:min(1, len(dtype))])+dtype[min(1, len(dtype)):], "Uint",
			"UInt", 1)
	}
	return out
}

// parts adds up the parts of an extension array. dtype is that of the first array.
func (c *columns) parts(addr uint64, depth int, seen map[uint64]bool, exact *bool) (bytes uint64, dtype string) {
	const deepest, most = 4, 64
	if depth > deepest || len(seen) > most {
		return 0, ""
	}
	take := func(word uint64, t *objects.Type) {
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
			more, of := c.parts(word, depth+1, seen, exact)
			bytes, dtype = bytes+more, cmp.Or(dtype, of)
		}
	}
	c.Fields(addr, take)
	return bytes, dtype
}

// names fills in the names of columns, from the index that is the first axis. One that cannot be read is called by its
// place.
func (c *columns) names(all []column, index uint64) {
	for i := range all {
		all[i].Name = "column " + strconv.Itoa(i)
	}
	array := c.IndexArray(index, 0)
	a := c.ReadArray(array)
	t := c.ObjectType(index)
	switch {
	case t != nil && c.Lineage(t).Is("RangeIndex"):
		c.ranged(all, c.Attribute(index, t, "_range"))
	case len(a.Shape) != 1 || a.Shape[0] != int64(len(all)):
	default:
		at, stride := c.Mem.Word(array+objects.ArrayData), c.Mem.Word(c.Mem.Word(array+objects.ArrayStrides))
		for i := range all {
			word := c.Mem.Word(at + uint64(i)*stride)
			switch a.DType {
			case "object":
				if text, ok := c.Text(word, maxColumnName); ok {
					all[i].Name = text
				} else if c.ObjectType(word) != nil {
					all[i].Name = c.Key(word, 0)
				}
			case "int64":
				all[i].Name = strconv.FormatInt(int64(word), 10)
			}
		}
	}
}

// ranged names columns by a range.
func (c *columns) ranged(all []column, of uint64) {
	const start, step = 16, 32 // start, stop, step, length: Objects/rangeobject.c
	from, ok := c.Integer(c.Mem.Word(of + start))
	by, also := c.Integer(c.Mem.Word(of + step))
	for i := range all {
		if ok && also {
			all[i].Name = strconv.FormatInt(from+int64(i)*by, 10)
		}
	}
}

// columns notes the elements of the columns of a data frame. Like variable, it does nothing for nil.
func (in *Inspector) columns(r *event.Variable, all []column) {
	if in == nil {
		return
	}
	for i, one := range all {
		if one.array == 0 {
			continue
		}
		if place, ok := in.placer.Array(one.array, one.row); ok {
			in.want(r.Name+"["+objects.Quote(one.Name)+"]", &r.Columns[i].Contents, place, leastOfColumn)
		}
	}
}

package views

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// A slice of a table, of an array or of a pandas column of Arrow's refers to the whole buffers. Such memory is looked
// for where there are objects of pyarrow's. The graph of C++ objects behind these shows which objects share a buffer.
// Their counts show whether anything else shares it.

// bufferType is the name of the type for the memory of such a buffer.
const bufferType = "pyarrow.Buffer"

// Bounds of that graph. Objects beyond them are not looked into: their references are not seen, and so the buffers that
// they share are not judged.
const (
	maxSharedNodes = 1 << 17
	maxSharedEdges = 1 << 19
	maxOfOne       = 1 << 13 // objects that are met first behind one of Python's, and a fourth of the references
	maxWalked      = 1 << 20 // objects on all ways from one of Python's
)

// sharedGraph has the objects that pyarrow's objects share.
type sharedGraph struct {
	*walk.Walker
	nodes []sharedPart
	of    map[uint64]int32 // by their counts
	roots []sharedRoot
	edges int
	// most and mostEdges are how many objects and references there may be, with those behind the object that is being
	// looked at.
	most, mostEdges int
	// walked is the number of times that an object was met on the way from one of Python's.
	walked int
}

// sharedRoot is an object of Python's, with its references.
type sharedRoot struct {
	obj  uint64
	refs []int32
}

// sharedPart is a C++ object.
type sharedPart struct {
	objects.SharedPointer
	refs  []int32
	seen  uint32 // references that were seen
	pool  objects.PoolBuffer
	parts []bufferPart // where it is an array's data, the parts of buffers that this uses
	array bool         // and these are all that it uses of them
}

// bufferPart is how many bytes of a buffer are used.
type bufferPart struct {
	node  int32
	bytes uint64
}

// refer returns the number of an object.
func (g *sharedGraph) refer(p objects.SharedPointer) (n int32) {
	n, known := g.of[p.Counts]
	switch {
	case g.isFull():
		return -1
	case !known:
		n = int32(len(g.nodes))
		g.of[p.Counts] = n
		g.nodes = append(g.nodes, sharedPart{SharedPointer: p})
	}
	g.edges++
	g.nodes[n].seen++
	return n
}

func (g *sharedGraph) isFull() bool {
	return len(g.nodes) >= g.most || g.edges >= g.mostEdges
}

// take takes in an object of pyarrow's, and all that lies behind it.
func (g *sharedGraph) take(obj uint64, typ *objects.Type) {
	root, first := sharedRoot{obj: obj}, len(g.nodes)
	g.most, g.mostEdges = min(first+maxOfOne, maxSharedNodes), min(g.edges+4*maxOfOne, maxSharedEdges)
	objects.EachShared(g.Types, obj, typ, func(p objects.SharedPointer) {
		if n := g.refer(p); n >= 0 {
			root.refs = append(root.refs, n)
		}
	})
	if len(root.refs) > 0 {
		g.roots = append(g.roots, root)
	}
	for n := first; n < len(g.nodes) && !g.isFull() && !g.Done(); n++ {
		g.look(int32(n))
	}
}

// look takes in the references of an object.
func (g *sharedGraph) look(n int32) {
	p := g.nodes[n].SharedPointer
	_, behind := objects.BehindShared(g.Types, p)
	pool, ok := objects.PoolBufferAt(g.Types, p.Object)
	if !ok {
		pool = objects.PoolBuffer{}
	}
	var refs []int32
	objects.ScanShared(g.Walker.Types, p.Object, cmp.Or(behind, objects.LeastBehind(p.Class)),
		func(p objects.SharedPointer) bool {
			to := g.refer(p)
			if to >= 0 {
				refs = append(refs, to)
			}
			return to >= 0
		}, func(objects.SharedVector) bool { return true })
	one := &g.nodes[n]
	one.refs, one.pool = refs, pool
	if strings.Contains(p.Class, "5arrow9ArrayDataE") {
		one.parts, one.array = g.partsOf(p.Object)
	}
}

// bitsOf has the number of bits of an element, by the name of the class of its type.
var bitsOf = map[string]uint64{
	"BooleanType": 1, "Int8Type": 8, "UInt8Type": 8, "Int16Type": 16, "UInt16Type": 16, "HalfFloatType": 16,
	"Int32Type": 32, "UInt32Type": 32, "FloatType": 32,
	"Date32Type": 32, "Time32Type": 32, "MonthIntervalType": 32, "Decimal32Type": 32, "Int64Type": 64, "UInt64Type": 64,
	"DoubleType": 64, "Date64Type": 64,
	"Time64Type": 64, "TimestampType": 64, "DurationType": 64, "DayTimeIntervalType": 64, "Decimal64Type": 64,
	"Decimal128Type": 128, "MonthDayNanoIntervalType": 128,
	"Decimal256Type": 256,
}

// offsetsOf are how many bytes an offset into the text has, by the name of the class of the column's type.
var offsetsOf = map[string]uint64{"StringType": 4, "BinaryType": 4, "LargeStringType": 8, "LargeBinaryType": 8}

// partsOf returns how much of its buffers an arrow::ArrayData uses: a type, the length, the number of nulls, the
// offset, and the buffers, of which the first marks the nulls (cpp/src/arrow/array/data.h, Arrow 11 to 25). ok is false
// for a type with more parts than these.
func (g *sharedGraph) partsOf(data uint64) (parts []bufferPart, ok bool) {
	const length, offset, buffers = 16, 32, 40
	kind, isType := objects.SharedAt(g.Types, data)
	v, isVector := objects.VectorAt(g.Types, data+buffers)
	rows, from := g.Mem.Word(data+length), g.Mem.Word(data+offset)
	if !isType || !isVector || v.End-v.Begin > 3*objects.SharedSize || rows >= objects.UserSpace ||
		from >= objects.UserSpace {
		return nil, false
	}
	name := strings.TrimLeft(strings.TrimSuffix(strings.TrimPrefix(g.Class(g.Mem.Word(kind.Object)), "N5arrow"), "E"),
		"0123456789")
	bits, width := bitsOf[name], offsetsOf[name]
	if bits == 0 && width == 0 {
		return nil, false
	}
	for at := v.Begin; at < v.End; at += objects.SharedSize {
		p, there := objects.SharedAt(g.Types, at)
		n, known := g.of[p.Counts]
		if !there || !known {
			continue
		}
		used := uint64(0)
		switch i := (at - v.Begin) / objects.SharedSize; {
		case i == 0:
			used = (rows + 7) / 8
		case i == 1 && bits > 0:
			used = (rows*min(bits, 256) + 7) / 8
		case i == 1:
			used = (rows + 1) * width
		case width > 0:
			used = g.textBytes(v.Begin+objects.SharedSize, width, from, rows)
		}
		parts = append(parts, bufferPart{n, used})
	}
	return parts, true
}

// textBytes returns how many bytes of text the rows from one on have, by their offsets: numbers of width bytes in the
// buffer that the shared pointer at an address leads to. For impossible offsets, it returns more than there can be.
func (g *sharedGraph) textBytes(pointer, width, from, rows uint64) uint64 {
	offsets, ok := objects.SharedAt(g.Types, pointer)
	if !ok {
		return 0
	}
	first := g.Mem.Word(offsets.Object+objects.BufferData) + width*from
	begin, end := g.Mem.Word(first), g.Mem.Word(first+width*rows)
	if width == 4 { // the words have the next offsets as well
		begin, end = uint64(uint32(begin)), uint64(uint32(end))
	}
	if end < begin {
		return objects.UserSpace
	}
	return end - begin
}

// views returns the buffers that only slices hold, by address.
func (g *sharedGraph) views() (all []Held) {
	known := g.accounted()
	uses, users, small := make([]usedBuffers, len(g.roots)), map[int32]int{}, map[int32]bool{}
	for i, r := range g.roots {
		uses[i] = g.usedBy(r)
		for _, one := range uses[i].parts {
			users[one.node]++
			capacity := g.nodes[one.node].pool.Capacity
			small[one.node] = small[one.node] || known[one.node] && capacity >= leastBase && one.bytes < capacity/2
		}
		if g.walked > maxWalked || g.Done() {
			return nil
		}
	}
	by := map[int32]*Held{}
	for i, r := range g.roots {
		besides := uses[i].besides // a part that a copy cannot free: the buffer stays
		for _, one := range uses[i].parts {
			if !small[one.node] && (!known[one.node] || users[one.node] > 1) {
				besides += one.bytes
			}
		}
		for _, one := range uses[i].parts {
			if !small[one.node] {
				continue
			}
			held := by[one.node]
			if held == nil {
				pool := g.nodes[one.node].pool
				held = &Held{View: event.View{Address: pool.Data, Size: event.Bytes(pool.Capacity), Type: bufferType},
					holds: map[uint64]int64{}}
				by[one.node] = held
			}
			copies := (one.bytes+63)&^63 + besides
			held.targets = append(held.targets, target{View: r.obj, used: one.bytes, copies: copies, arrow: true})
			besides = 0
		}
	}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[n])
	}
	return all
}

// usedBuffers are the buffers of pools that an object uses, by their numbers. besides is how many bytes of other
// buffers it uses.
type usedBuffers struct {
	parts   []bufferPart
	besides uint64
}

// accounted reports of each object whether all references to it were seen, and all references to every object from
// which it can be reached.
func (g *sharedGraph) accounted() []bool {
	known, queue := make([]bool, len(g.nodes)), []int32{}
	for n := range g.nodes {
		if known[n] = g.nodes[n].seen == g.nodes[n].Uses; !known[n] {
			queue = append(queue, int32(n))
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, to := range g.nodes[n].refs {
			if known[to] {
				known[to] = false
				queue = append(queue, to)
			}
		}
	}
	return known
}

// usedBy returns how many bytes an object uses of each buffer that it leads to. If the object does not lead to a buffer
// as the data of an array, it uses the whole buffer.
func (g *sharedGraph) usedBy(r sharedRoot) (out usedBuffers) {
	used, met := map[int32]uint64{}, map[int32]bool{}
	queue := slices.Clone(r.refs)
	for ; len(queue) > 0 && g.walked <= maxWalked && !g.Done(); g.walked++ {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		one := &g.nodes[n]
		if one.pool.Capacity > 0 {
			used[n] = one.pool.Capacity
			continue
		}
		if met[n] {
			continue
		}
		met[n] = true
		for _, to := range one.refs {
			if !one.array || g.nodes[to].pool.Capacity == 0 {
				queue = append(queue, to)
			}
		}
		for _, p := range one.parts {
			if capacity := g.nodes[p.node].pool.Capacity; capacity > 0 {
				used[p.node] = min(used[p.node]+min(p.bytes, capacity), capacity)
			} else {
				out.besides += min(p.bytes, objects.UserSpace)
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(used)) {
		out.parts = append(out.parts, bufferPart{n, used[n]})
	}
	return out
}

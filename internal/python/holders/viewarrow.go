package holders

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
	maxOfOne       = 1 << 13 // new objects behind one of Python's, and a fourth of their references
	maxWalked      = 1 << 20 // objects on the ways from all of Python's objects
)

// sharedGraph has the C++ objects that pyarrow's objects share. Nodes have numbers.
type sharedGraph struct {
	*walk.Walker
	nodes []sharedPart
	of    map[uint64]int32 // the node of an object, by the address of its control block
	roots []sharedRoot
	edges int // number of references
	// most and mostEdges bound nodes and edges while the objects behind one of Python's are looked at.
	most, mostEdges int
	walked          int // steps of usedBy, for all roots
}

// sharedRoot is an object of Python's, with its references.
type sharedRoot struct {
	obj  uint64
	refs []int32
}

// sharedPart is a C++ object: a node.
type sharedPart struct {
	objects.SharedPointer
	refs  []int32
	seen  uint32             // references that were seen
	pool  objects.PoolBuffer // zero for an object of another class
	parts []bufferPart       // of an array's data: how much of its buffers the array uses
	array bool               // parts is complete
}

// bufferPart says how many bytes of a buffer are used.
type bufferPart struct {
	node  int32
	bytes uint64
}

// refer counts a reference to an object, and returns the object's node; -1 where there is no room for it.
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

// addRoot adds an object of pyarrow's as a root, and the C++ objects to which it leads as nodes.
func (g *sharedGraph) addRoot(obj uint64, typ *objects.Type) {
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
		g.fillIn(int32(n))
	}
}

// fillIn fills in a node: its references, and what it uses of buffers.
func (g *sharedGraph) fillIn(n int32) {
	p := g.nodes[n].SharedPointer
	_, behind := objects.BehindShared(g.Types, p)
	pool, ok := objects.PoolBufferAt(g.Types, p.Object)
	if !ok {
		pool = objects.PoolBuffer{}
	}
	var refs []int32
	refer := func(p objects.SharedPointer) bool {
		to := g.refer(p)
		if to >= 0 {
			refs = append(refs, to)
		}
		return to >= 0
	}
	anyVector := func(objects.SharedVector) bool { return true }
	objects.ScanShared(g.Walker.Types, p.Object, cmp.Or(behind, objects.LeastBehind(p.Class)), refer, anyVector)
	node := &g.nodes[n]
	node.refs, node.pool = refs, pool
	if strings.Contains(p.Class, "5arrow9ArrayDataE") {
		node.parts, node.array = g.partsOf(p.Object)
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

// offsetsOf has the size in bytes of an offset into the text, by the name of the class of the column's type.
var offsetsOf = map[string]uint64{"StringType": 4, "BinaryType": 4, "LargeStringType": 8, "LargeBinaryType": 8}

// partsOf returns how much of its buffers an arrow::ArrayData uses. It has a type, the length, the number of nulls, the
// offset, and the buffers, of which the first marks the nulls (cpp/src/arrow/array/data.h, Arrow 11 to 25). ok is false
// for a type that has other buffers.
func (g *sharedGraph) partsOf(data uint64) (parts []bufferPart, ok bool) {
	const length, offset, buffers = 16, 32, 40
	kind, isType := objects.SharedAt(g.Types, data)
	v, isVector := objects.VectorAt(g.Types, data+buffers)
	rows, from := g.Mem.Word(data+length), g.Mem.Word(data+offset)
	if !isType || !isVector || v.End-v.Begin > 3*objects.SharedSize || rows >= objects.UserSpace ||
		from >= objects.UserSpace {
		return nil, false
	}
	class := strings.TrimSuffix(strings.TrimPrefix(g.Class(g.Mem.Word(kind.Object)), "N5arrow"), "E")
	name := strings.TrimLeft(class, "0123456789") // the length is in front
	bits, width := bitsOf[name], offsetsOf[name]
	if bits == 0 && width == 0 {
		return nil, false
	}
	const nulls, values = 0, 1 // the first two buffers; the third has the text
	for i := uint64(0); i < (v.End-v.Begin)/objects.SharedSize; i++ {
		p, there := objects.SharedAt(g.Types, v.Begin+i*objects.SharedSize)
		n, known := g.of[p.Counts]
		if !there || !known {
			continue
		}
		used := uint64(0)
		switch {
		case i == nulls:
			used = (rows + 7) / 8
		case i == values && bits > 0:
			used = (rows*bits + 7) / 8
		case i == values:
			used = (rows + 1) * width
		case width > 0:
			used = g.textBytes(v.Begin+objects.SharedSize, width, from, rows)
		}
		parts = append(parts, bufferPart{n, used})
	}
	return parts, true
}

// textBytes returns how many bytes of text some rows have, beginning with row from. The offsets into the text are
// numbers of width bytes, in the buffer to which the shared pointer at an address leads. For impossible offsets
// textBytes returns more than there can be.
func (g *sharedGraph) textBytes(pointer, width, from, rows uint64) uint64 {
	offsets, ok := objects.SharedAt(g.Types, pointer)
	if !ok {
		return 0
	}
	first := g.Mem.Word(offsets.Object+objects.BufferData) + width*from
	begin, end := g.Mem.Word(first), g.Mem.Word(first+width*rows)
	if width == 4 { // the upper half of a word is the next offset
		begin, end = uint64(uint32(begin)), uint64(uint32(end))
	}
	if end < begin {
		return objects.UserSpace
	}
	return end - begin
}

// views returns the buffers of which a slice uses less than half, by node, with all objects that use the buffer. They
// are candidates: nothing but objects of pyarrow's holds them.
func (g *sharedGraph) views() (found []Held) {
	known := g.accounted()
	uses, users, sliced := make([]usedBuffers, len(g.roots)), map[int32]int{}, map[int32]bool{}
	for i, r := range g.roots {
		uses[i] = g.usedBy(r)
		for _, part := range uses[i].parts {
			users[part.node]++
			capacity := g.nodes[part.node].pool.Capacity
			isSlice := known[part.node] && capacity >= leastBase && part.bytes < capacity/2
			sliced[part.node] = sliced[part.node] || isSlice
		}
		if g.walked > maxWalked || g.Done() {
			return nil
		}
	}
	byNode := map[int32]*Held{}
	for i, r := range g.roots {
		besides := uses[i].besides // bytes that a copy takes but does not free: their buffers stay
		for _, part := range uses[i].parts {
			if !sliced[part.node] && (!known[part.node] || users[part.node] > 1) {
				besides += part.bytes
			}
		}
		for _, part := range uses[i].parts {
			if !sliced[part.node] {
				continue
			}
			held := byNode[part.node]
			if held == nil {
				pool := g.nodes[part.node].pool
				held = &Held{View: event.View{Address: pool.Data, Size: event.Bytes(pool.Capacity), Type: bufferType},
					holds: map[uint64]int64{}}
				byNode[part.node] = held
			}
			const alignment = 64 // of Arrow's buffers
			copies := (part.bytes+alignment-1)&^(alignment-1) + besides
			held.targets = append(held.targets, target{View: r.obj, used: part.bytes, copies: copies, arrow: true})
			besides = 0
		}
	}
	for _, n := range slices.Sorted(maps.Keys(byNode)) {
		found = append(found, *byNode[n])
	}
	return found
}

// usedBuffers has what an object uses of buffers.
type usedBuffers struct {
	parts   []bufferPart // of buffers from pools, by node
	besides uint64       // bytes of other buffers
}

// accounted returns, for each node, whether all references to it were seen, and all references to every node from which
// it can be reached.
func (g *sharedGraph) accounted() []bool {
	known, queue := make([]bool, len(g.nodes)), []int32{}
	for n := range g.nodes {
		known[n] = g.nodes[n].seen == g.nodes[n].Uses
		if !known[n] {
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

// usedBy returns how many bytes an object uses of each buffer that it leads to. It uses the whole of a buffer that it
// reaches in another way than through the data of an array.
func (g *sharedGraph) usedBy(r sharedRoot) (out usedBuffers) {
	used, met := map[int32]uint64{}, map[int32]bool{}
	queue := slices.Clone(r.refs)
	for ; len(queue) > 0 && g.walked <= maxWalked && !g.Done(); g.walked++ {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		node := &g.nodes[n]
		if node.pool.Capacity > 0 {
			used[n] = node.pool.Capacity
			continue
		}
		if met[n] {
			continue
		}
		met[n] = true
		for _, to := range node.refs {
			if !node.array || g.nodes[to].pool.Capacity == 0 {
				queue = append(queue, to)
			}
		}
		for _, p := range node.parts {
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

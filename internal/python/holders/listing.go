package holders

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/contents"
	"ipytracer/internal/python/holders/objects"
)

// listing adds up the findings. placing is the processor time for [findPlaces].
func (l *lister) listing(placing time.Duration) Listing {
	e := l.extents
	out := Listing{Objects: len(l.Nodes), Read: l.Mem.Total}
	l.groups = append(l.groups, group{kind: event.HeldByCycle})
	crowd := e.crowd
	defer crowd.free()
	e.addCrowd()
	out.Complete = l.Stopped == nil
	l.forget() // dominate needs the memory
	t := e.dominate(len(l.groups), l.loose)
	for i, bytes := range e.bytes {
		if t.Place[i] >= 0 {
			out.Total += event.Bytes(bytes)
		}
	}
	out.Total += event.Bytes(l.unmet)
	l.Mem.Limit += objects.PathBytes
	l.Stopped, l.Mem.Err = nil, nil
	rows := l.rows(&t, out.Complete)
	if len(rows) > maxListed {
		for _, r := range rows[maxListed:] {
			out.Unlisted++
			out.Rest += r.Bytes
		}
		rows = rows[:maxListed]
	}
	out.Names = make([]event.Variable, len(rows))
	columns := contents.NewColumns(&l.Sizer, l.inspector)
	for i, r := range rows {
		l.describeName(&r.Variable, r.group)
		columns.Describe(&r.Variable, l.groups[r.group].addr)
		out.Names[i] = r.Variable
		l.inspector.Variable(&out.Names[i], l.groups[r.group].addr)
	}
	l.inspector.Inspect()
	t.keepArcs()
	s := &sharing{tree: &t, extents: l.extents, addrs: l.Addrs}
	out.Owners, out.Shares = s.list(l, rows)
	isLarge := func(s event.Share) bool { return s.Bytes+s.Device >= leastPlacing }
	if len(l.extents.maps) > 0 || slices.ContainsFunc(out.Shares, isLarge) {
		out.Places = findPlaces(l, s, crowd, out.Shares, placing)
	}
	return out
}

// forget frees everything that only the walk needs.
func (l *lister) forget() {
	l.Mem.Release()
	l.EndWalk()
	l.give()
}

// rows makes a row of each group that is worth one. The groups that hold or reach most come first.
func (l *lister) rows(t *tree, complete bool) (rows []listedRow) {
	for i, g := range l.groups {
		at := t.Place[t.nodes+i]
		if at < 0 || len(g.targets) == 0 {
			continue
		}
		r := listedRow{Variable: event.Variable{
			Kind: g.kind, Bytes: event.Bytes(t.total[at]), Device: event.Bytes(t.device[at]),
			Exact: complete && !t.unknown[at], Length: -1,
		}, group: i}
		for _, n := range g.targets {
			if f, ok := l.viewed[n]; ok {
				r.Viewed, r.Base = f.Used, f.Size
			}
		}
		isUsers := g.kind == event.HeldByVariable || g.kind == event.HeldByOutput
		isSmall := !isUsers && !g.place && g.kind != event.HeldByTraceback && r.Bytes < leastModule
		if isImport := isUsers && l.IsShape(g.addr, objects.ShapeModule); isImport || isSmall {
			continue
		}
		if v := t.largestOf(int(at)); int(v) < t.nodes {
			r.Block, r.Size = l.Addrs[v], event.Bytes(l.extents.bytes[v])
			if data := l.extents.data[v]; data != 0 {
				r.Block, r.Array = data, true
			}
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b listedRow) int { return cmp.Compare(b.Bytes+b.Device, a.Bytes+a.Device) })
	marks, steps := make([]int32, len(l.Addrs)), 0
	for i := range rows {
		r := &rows[i]
		reaches, mapped := t.reach(l.extents, int32(t.nodes+r.group), int32(i+1), marks, &steps)
		r.Reaches, r.mapped = event.Bytes(reaches), mapped
	}
	rows = slices.DeleteFunc(rows, func(r listedRow) bool { // there are many small attributes
		return l.groups[r.group].place && r.size() < leastModule && r.mapped < leastModule
	})
	slices.SortStableFunc(rows, func(a, b listedRow) int { return cmp.Compare(b.size(), a.size()) })
	return rows
}

// reach adds up the bytes, and the memory maps, of the nodes that a vertex leads to. It does not go through classes and
// modules. A mark that differs for each call keeps it from counting a node twice. bytes is 0 after maxVisited steps.
func (t *tree) reach(e *extents, from, mark int32, marks []int32, steps *int) (bytes, mapped uint64) {
	stack := []int32{from}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, to := range t.forward.Of(v) {
			if int(to) >= t.nodes || marks[to] == mark || e.class[to] {
				continue
			}
			if *steps++; *steps > maxVisited {
				return 0, mapped
			}
			marks[to] = mark
			bytes += e.bytes[to]
			if len(e.maps) > 0 {
				mapped += e.maps[to].Size
			}
			stack = append(stack, to)
		}
	}
	return bytes, mapped
}

// describeName fills in the names of a row, the type of its object, and what is known of the value.
func (l *lister) describeName(r *event.Variable, g int) {
	group := &l.groups[g]
	names := group.names
	if slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "Out[") }) {
		names = slices.DeleteFunc(slices.Clone(names), objects.IsOutput)
	}
	if group.kind == event.HeldByThread {
		names = []string{"locals of " + l.FunctionOf(l.Frames[group.targets[0]].Code) + "()"}
	}
	if group.kind == event.HeldByTraceback {
		r.Codes = l.failed
	}
	if len(names) > 0 {
		r.Name, r.Also = names[0], names[1:min(len(names), objects.MaxAlso+1)]
	}
	if !r.Array {
		r.Array = l.IsShape(r.Block, objects.ShapeArray)
		r.Block = l.bufferOf(r.Block)
	}
	if t := l.ObjectType(group.addr); t != nil {
		r.Type = t.Name
		l.describeValue(r, group.addr, t)
	}
}

// bufferOf returns the address by which meters know the allocation of an object: that of the object's buffer if it has
// one, else that of the words in front of the object.
func (l *lister) bufferOf(addr uint64) uint64 {
	t := l.ObjectType(addr)
	if t == nil {
		return addr
	}
	switch {
	case t.Shape == objects.ShapeArray:
		return l.Mem.Word(addr + objects.ArrayData)
	case t.Shape == objects.ShapeList:
		return l.Mem.Word(addr + uint64(l.Heap.ListItems))
	case t.Shape == objects.ShapeDict:
		return l.Mem.Word(addr + uint64(l.Heap.DictKeys))
	case t.Shape == objects.ShapeSet:
		return l.Mem.Word(addr + cpython.SetTable)
	}
	if lineage := l.Lineage(t); lineage.Origin == "bytearray" || lineage.Origin == "array.array" {
		buffer, _ := l.ItemBuffer(addr, lineage)
		return buffer
	}
	return addr - l.Prefix(t)
}

// Listing has a Python's objects, by name.
type Listing struct {
	Names    []event.Variable // those that hold or reach most first; their texts are hostile, and may be no UTF-8
	Owners   []event.Owner    // see [event.Variables]; their texts are hostile, too
	Shares   []event.Share
	Still    []bool      // for each piece of objects.Limits.Watch: the object is still there
	Unlisted int         // number of names beyond those in Names
	Rest     event.Bytes // bytes that the unlisted names hold
	Total    event.Bytes // bytes of all objects that were reached
	Objects  int
	Read     int64   // bytes
	Complete bool    // false where a limit was hit: all bytes are then lower bounds
	Places   *Places // of the shares' blocks; nil where no share has leastPlacing bytes
}

// Bounds of a listing.
const (
	maxListed   = 1000
	leastModule = 256 << 10 // bytes of objects that only a module, a traceback or a frame has, to be listed
	maxVisited  = 1 << 23   // objects visited for Reaches, of all names
)

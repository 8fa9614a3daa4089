package variables

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

// listing adds up the findings.
func (l *lister) listing(placing time.Duration) Listing {
	e := l.extents
	out := Listing{Objects: len(l.Nodes), Read: l.Mem.Total}
	l.groups = append(l.groups, group{kind: event.HeldByCycle})
	crowd := e.crowd
	defer crowd.free()
	e.settle()
	out.Complete = l.Stopped == nil
	l.forget() // it takes memory of its own
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
	of := &sharing{tree: &t, extents: l.extents, addrs: l.Addrs}
	out.Owners, out.Shares = of.list(l, rows)
	if len(l.extents.maps) > 0 ||
		slices.ContainsFunc(out.Shares, func(s event.Share) bool { return s.Bytes+s.Device >= leastPlacing }) {
		out.Places = findPlaces(l, of, crowd, out.Shares, placing)
	}
	return out
}

// forget gives back everything that only the walk needs.
func (l *lister) forget() {
	l.Mem.Release()
	l.EndWalk()
	l.give()
}

// rows makes a row of each group that is worth one: those that hold or reach most first.
func (l *lister) rows(t *tree, complete bool) (rows []listedRow) {
	for i, g := range l.groups {
		at := t.Place[t.nodes+i]
		if at < 0 || len(g.targets) == 0 {
			continue
		}
		r := listedRow{event.Variable{
			Kind: g.kind, Bytes: event.Bytes(t.total[at]), Device: event.Bytes(t.device[at]), Exact: complete &&
				!t.unknown[at], Length: -1,
		}, i, 0}
		for _, n := range g.targets {
			if f, ok := l.viewed[n]; ok {
				r.Viewed, r.Base = f.Used, f.Size
			}
		}
		named := g.kind == event.HeldByVariable || g.kind == event.HeldByOutput
		if !named && !g.place && g.kind != event.HeldByTraceback && r.Bytes < leastModule ||
			named && l.IsShape(g.addr, objects.ShapeModule) {
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
	rows = slices.DeleteFunc(rows, func(r listedRow) bool {
		return l.groups[r.group].place && r.size() < leastModule && r.mapped < leastModule // there are many of them
	})
	slices.SortStableFunc(rows, func(a, b listedRow) int { return cmp.Compare(b.size(), a.size()) })
	return rows
}

// reach adds up the nodes that a vertex leads to, without classes and modules and the nodes that only they lead to, and
// their memory maps.
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

// describeName fills in a row's names, its type and what is known of its value.
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

// bufferOf returns the buffer of an object, where it has one: an allocation is known by it.
func (l *lister) bufferOf(addr uint64) uint64 {
	t := l.ObjectType(addr)
	if t == nil {
		return addr
	}
	switch {
	case t.Shape == objects.ShapeArray:
		return l.Mem.Word(addr + 16)
	case t.Shape == objects.ShapeList:
		return l.Mem.Word(addr + uint64(l.Heap.ListItems))
	case t.Shape == objects.ShapeDict:
		return l.Mem.Word(addr + uint64(l.Heap.DictKeys))
	case t.Shape == objects.ShapeSet:
		return l.Mem.Word(addr + cpython.SetTable)
	}
	if of := l.Lineage(t); of.Origin == "bytearray" || of.Origin == "array.array" {
		at, _ := l.ItemBuffer(addr, of)
		return at
	}
	return addr - l.Prefix(t)
}

// Listing has a Python's objects, by name.
type Listing struct {
	Names    []event.Variable // those that hold or reach most first; their texts are hostile, and may be no UTF-8
	Owners   []event.Owner    // see [event.Variables]; likewise
	Shares   []event.Share
	Still    []bool // for each piece that was asked for
	Unlisted int    // names that are not in it, and the bytes that would go with these
	Rest     event.Bytes
	Total    event.Bytes // bytes of all objects that were reached
	Objects  int
	Read     int64   // bytes
	Complete bool    // false where a limit was hit: all bytes are then the least
	Places   *Places // of the shares' blocks; nil where none has 1 MiB
}

// Bounds of a listing.
const (
	maxListed   = 1000
	leastModule = 256 << 10 // bytes of objects that only a module, a traceback or a frame has, to be listed
	maxVisited  = 1 << 23   // objects visited for Reaches, of all names
)

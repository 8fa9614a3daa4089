package holders

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// listing adds up the findings.
func (l *lister) listing(placing time.Duration) Listing {
	e := l.extents
	out := Listing{Objects: len(l.nodes), Read: l.mem.total}
	l.groups = append(l.groups, group{kind: event.HeldByCycle})
	crowd := e.crowd
	defer crowd.free()
	e.settle()
	out.Complete = l.stopped == nil
	l.forget() // it takes memory of its own
	t := e.dominate(len(l.groups), l.loose)
	for i, bytes := range e.bytes {
		if t.Place[i] >= 0 {
			out.Total += event.Bytes(bytes)
		}
	}
	out.Total += event.Bytes(l.unmet)
	l.mem.limit += pathBytes
	l.stopped, l.mem.err = nil, nil
	rows := l.rows(&t, out.Complete)
	if len(rows) > maxListed {
		for _, r := range rows[maxListed:] {
			out.Unlisted++
			out.Rest += r.Bytes
		}
		rows = rows[:maxListed]
	}
	out.Names = make([]event.Variable, len(rows))
	columns := newColumns(&l.sizer, l.inspector)
	for i, r := range rows {
		l.describeName(&r.Variable, r.group)
		columns.describe(&r.Variable, l.groups[r.group].addr)
		out.Names[i] = r.Variable
		l.inspector.variable(&out.Names[i], l.groups[r.group].addr)
	}
	l.inspector.inspect()
	t.keepArcs()
	of := newSharing(l, &t)
	out.Owners, out.Shares = of.list(l, rows)
	if len(l.extents.maps) > 0 ||
		slices.ContainsFunc(out.Shares, func(s event.Share) bool { return s.Bytes+s.Device >= leastPlacing }) {
		out.Places = findPlaces(l, of, crowd, out.Shares, placing)
	}
	return out
}

// forget gives back everything that only the walk needs.
func (l *lister) forget() {
	l.mem.release()
	l.freeNodes()
	l.index = table{}
	l.give()
	l.deferred, l.keys = nil, nil
	l.beliefs.believed, l.beliefs.doubts = nil, nil
	l.pieces.raw, l.pieces.awaited = nil, nil
}

// row is a group on its way into the listing.
type listedRow struct {
	event.Variable
	group  int
	mapped uint64 // bytes of memory maps that it leads to
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
			named && l.isShape(g.addr, shapeModule) {
			continue
		}
		if v := t.largestOf(int(at)); int(v) < t.nodes {
			r.Block, r.Size = l.addrs[v], event.Bytes(l.extents.bytes[v])
			if data := l.extents.data[v]; data != 0 {
				r.Block, r.Array = data, true
			}
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b listedRow) int { return cmp.Compare(b.Bytes+b.Device, a.Bytes+a.Device) })
	marks, steps := make([]int32, len(l.addrs)), 0
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

// size is the bytes that a row is ranked by: those that go with it, or those that it leads to.
func (r *listedRow) size() event.Bytes { return max(r.Bytes, r.Reaches) + r.Device }

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

// describeName fills in everything but the memory.
func (l *lister) describeName(r *event.Variable, g int) {
	group := &l.groups[g]
	names := group.names
	if slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "Out[") }) {
		names = slices.DeleteFunc(slices.Clone(names), isOutput)
	}
	if group.kind == event.HeldByThread {
		names = []string{"locals of " + l.frameName(group.targets[0])}
	}
	if group.kind == event.HeldByTraceback {
		r.Codes = l.failed
	}
	if len(names) > 0 {
		r.Name, r.Also = names[0], names[1:min(len(names), maxAlso+1)]
	}
	if !r.Array {
		r.Array = l.isShape(r.Block, shapeArray)
		r.Block = l.bufferOf(r.Block)
	}
	if t := l.objectType(group.addr); t != nil {
		r.Type = t.name
		l.describeValue(r, group.addr, t)
	}
}

// frameName is the name of the function of a frame.
func (l *lister) frameName(n int32) string {
	name := l.heap.CodeQualName
	if name == 0 {
		name = l.heap.CodeName
	}
	text, _ := l.text(l.mem.word(l.frames.at[n].code+uint64(name)), maxText)
	return text + "()"
}

// bufferOf returns the buffer of an object, where it has one: an allocation is known by it.
func (l *lister) bufferOf(addr uint64) uint64 {
	t := l.objectType(addr)
	if t == nil {
		return addr
	}
	switch {
	case t.shape == shapeArray:
		return l.mem.word(addr + 16)
	case t.shape == shapeList:
		return l.mem.word(addr + uint64(l.heap.ListItems))
	case t.shape == shapeDict:
		return l.mem.word(addr + uint64(l.heap.DictKeys))
	case t.shape == shapeSet:
		return l.mem.word(addr + cpython.SetTable)
	case l.lineage(t).origin == "bytearray":
		return l.mem.word(addr + 32)
	case l.lineage(t).origin == "array.array":
		return l.mem.word(addr + 24)
	}
	return addr - l.prefix(t)
}

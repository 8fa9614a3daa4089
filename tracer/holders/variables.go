package holders

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"ipytracer/tracer/cpython"
)

// A Listed is a name, or a few for the same object, and what goes with it.
type Listed struct {
	Name string   // as one types it: x, Out[7], module.attribute; of a frame "locals of f"; hostile
	Also []string // other names of the same object, at most 8
	Kind Kind     // Variable, Output, Traceback, Thread or Module
	Type string   // tp_name, at most 128 bytes, hostile
	// Shape is of what has one: arrays, tensors, data frames, sparse matrices. DType is of their elements, "" if not known.
	Shape  []int64
	DType  string
	Length int64 // len() of it, -1 if that is not known
	// Bytes is what would go with the name, and all the others of the object: what only this object holds. Reaches is
	// all that it leads to, classes and modules left out; 0 where that was not added up.
	Bytes, Reaches uint64
	Device         uint64 // of GPU memory that would go, in bytes
	// Exact is false where Bytes is only the least: the walk was cut, or there are objects of libraries in C that do
	// not say what else they have.
	Exact bool
	// Block is the address of the largest buffer or object among those, and what it is the address of for who made it.
	Block, BlockSize uint64
	// Array says that the block is an array's data.
	Array bool
}

// Listing is what a Python has, by name.
type Listing struct {
	Names    []Listed // most bytes first
	Unlisted int      // names that are not in it, and what would go with these
	Rest     uint64
	Total    uint64 // bytes of all objects that were reached
	Objects  int
	Read     int64 // bytes
	Complete bool  // false where a limit was hit: all bytes are then the least
}

// Bounds of a listing.
const (
	maxListed   = 1000
	maxAlso     = 8
	leastModule = 256 << 10 // bytes of what only a module, a traceback or a frame has, to be listed
	maxVisited  = 1 << 23   // objects visited for Reaches, of all names
)

var errNotMapped = errors.New("holders: what the process has mapped is not known, so neither is how large its objects are")

// List says what the Python has, by name: the user's variables, IPython's outputs, and what is large and only modules,
// tracebacks or frames have. It is the last that a survey can be asked for, waits for those
// beside it. It fails as [Survey.Find] does, and without [Process.Mapped].
func (s *Survey) List(ctx context.Context, limits Limits) (Listing, error) {
	defer onThread()()
	if s.sizes == nil {
		return Listing{}, errNotMapped
	}
	limits.defaults()
	s.mem.few() // most of what is needed was noted
	w := s.walker(ctx, nil, limits)
	defer w.free()
	w.stopped = s.stopped
	w.extents = &extents{group: nobody, data: map[int32]uint64{}, device: map[int32]uint64{}}
	w.reserve(s.notes.containers + s.notes.shared)
	w.extents.reserve(s.notes.containers + s.notes.shared)
	defer w.extents.free()
	l := &lister{walker: w, byAddr: map[uint64]int{}, give: func() {
		s.notes.wait()
		s.notes.release()
		s.notes = nil
	}}
	l.walk()
	return l.listing(), nil
}

// group is names of one object, or of what belongs together.
type group struct {
	names   []string
	addr    uint64 // of the object; 0 for several
	kind    Kind
	targets []int32
}

// lister is a walk over everything that has a name.
type lister struct {
	*walker
	groups []group
	byAddr map[uint64]int
	late   []binding2
	give   func() // the notes back
}

// binding2 is a name whose object leads out of what names hold: it is looked at when everything else was.
type binding2 struct {
	group int
	addr  uint64
}

// group finds the group of an object, or makes one.
func (l *lister) groupOf(addr uint64, kind Kind) int {
	if g, ok := l.byAddr[addr]; ok {
		return g
	}
	l.groups = append(l.groups, group{addr: addr, kind: kind})
	l.byAddr[addr] = len(l.groups) - 1
	return len(l.groups) - 1
}

// bind has a name refer to an object.
func (l *lister) bind(name string, addr uint64, kind Kind) {
	t := l.objectType(addr)
	if t == nil || l.stopped != nil {
		return
	}
	if g, known := l.byAddr[addr]; known && kind == Module && l.groups[g].kind != Module {
		l.follow(nobody, addr, label{}) // a name of the user's is not all that holds it
		return
	}
	g := l.groupOf(addr, kind)
	if all := &l.groups[g].names; name != "" && len(*all) <= maxAlso && !slices.Contains(*all, name) {
		*all = append(*all, name)
	}
	l.hold(g, addr)
}

// hold has a group refer to an object.
func (l *lister) hold(g int, addr uint64) {
	t := l.objectType(addr)
	if t == nil {
		return
	}
	if _, known := l.known(addr); !known && l.deferring && l.leadsOut(addr, t) {
		l.late = append(l.late, binding2{g, addr})
		return
	}
	l.extents.group = int32(-2 - g)
	l.follow(nobody, addr, label{})
	l.extents.group = nobody
	if n, ok := l.known(addr); ok && !slices.Contains(l.groups[g].targets, n) {
		l.groups[g].targets = append(l.groups[g].targets, n)
	}
}

// walk follows all names: the user's first.
func (l *lister) walk() {
	w := l.walker
	modules := w.modules()
	for _, m := range modules {
		w.spaces[m.dict] = true
	}
	for _, m := range modules { // their names are roots of their own
		if m.dict != 0 && w.part(nobody, m.dict) {
			w.part(nobody, m.addr)
		}
	}
	main, sys, builtins := w.moduleDict(modules, "__main__"), w.moduleDict(modules, "sys"), w.moduleDict(modules, "builtins")
	threads := w.readThreads()
	w.deferring = true
	names := w.namespace(main)
	ipython := l.readShell(names)
	l.variables(names)
	l.outputs(names, ipython, builtins)
	l.tracebacks(ipython, sys)
	l.threads(threads)
	l.closures()
	if w.limits.Names {
		return
	}
	w.deferring = false
	for _, m := range modules {
		if m.name != "__main__" && (m.dict != main || main == 0) { // __mp_main__ is another name of it
			l.module(m)
		}
	}
	w.flush()
	for _, b := range l.late {
		l.hold(b.group, b.addr)
	}
	w.run()
}

// closures looks into functions of modules that have names of the user's: they may have made their closures for him.
func (l *lister) closures() {
	l.kind = kindVariable
	rest := l.late[:0]
	for _, b := range l.late {
		if !l.isShape(b.addr, shapeFunction) {
			rest = append(rest, b)
			continue
		}
		l.deferring = false // but for this one
		l.hold(b.group, b.addr)
		l.deferring = true
		l.run()
	}
	l.late = rest
}

// numpyVersion is the number in front of the first point of numpy.__version__, 0 if there is none.
func (w *walker) numpyVersion(numpy uint64) int {
	if numpy == 0 {
		return 0
	}
	text, _ := w.text(w.lookup(numpy, "__version__"), maxName)
	major, _, _ := strings.Cut(text, ".")
	n, _ := strconv.Atoi(major)
	return n
}

func (l *lister) variables(names []binding) {
	l.kind = kindVariable
	for _, b := range names {
		if !isIPythons(b.name) && !strings.HasPrefix(b.name, "__") {
			l.bind(b.name, b.value, Variable)
		}
	}
	l.run()
}

// shell is what IPython keeps of outputs and of the last exception: objects of its own, of which some references are those
// of a name and the others are its own.
type shell struct {
	out    uint64   // Out
	hidden uint64   // user_ns_hidden: names that %who does not show
	hook   uint64   // the display hook, which has _, __ and ___
	result uint64   // the last ExecutionResult
	shown  []uint64 // what shows tracebacks
}

// readShell finds them, and keeps the walk from looking into them by itself.
func (l *lister) readShell(names []binding) (s shell) {
	const self = 24 // PyMethodObject.im_self
	for _, b := range names {
		switch b.name {
		case "Out":
			s.out = b.value
		case "get_ipython":
			object := l.mem.word(b.value + self)
			s.hidden, s.hook, s.result = l.attributeOf(object, "user_ns_hidden"), l.attributeOf(object, "displayhook"), l.attributeOf(object, "last_execution_result")
			s.shown = []uint64{l.attributeOf(object, "InteractiveTB"), l.attributeOf(object, "SyntaxTB")}
		}
	}
	for _, addr := range append([]uint64{s.out, s.hidden, s.hook, s.result}, s.shown...) {
		if l.objectType(addr) != nil {
			l.part(nobody, addr)
		}
	}
	return s
}

// inside follows what such an object refers to. What it has under some names is taken elsewhere.
func (l *lister) inside(addr uint64, taken func(name string, value uint64) bool) {
	n, ok := l.known(addr)
	t := l.objectType(addr)
	if !ok || t == nil {
		return
	}
	each := func(key, value uint64) bool {
		if name, _ := l.text(key, maxName); !taken(name, value) {
			l.follow(n, value, label{})
		}
		return !l.done()
	}
	if t.shape == shapeDict {
		l.entries(addr, each)
	} else if dict := l.attributes(addr, t, each); dict != 0 {
		l.part(n, dict)
	}
}

// outputs has IPython's outputs under their names in Out, wherever else IPython has them.
func (l *lister) outputs(names []binding, s shell, builtins uint64) {
	l.kind = kindOutput
	if l.isShape(s.out, shapeDict) {
		l.entries(s.out, func(key, value uint64) bool {
			if n, ok := l.integer(key); ok {
				l.bind("Out["+strconv.FormatInt(n, 10)+"]", value, Output)
			}
			return !l.done()
		})
	}
	output := func(name string, value uint64) bool {
		if isOutput(name) {
			l.bind(name, value, Output)
		}
		return isOutput(name)
	}
	for _, b := range names {
		output(b.name, b.value)
	}
	output("_", l.lookup(builtins, "_"))
	l.run()
	l.kind = kindModule // what IPython has itself is no output
	l.inside(s.hidden, output)
	l.inside(s.hook, output)
	l.inside(s.result, func(name string, value uint64) bool {
		_, known := l.byAddr[value]
		if name == "result" && known {
			l.bind("", value, Output)
			return true
		}
		return strings.HasPrefix(name, "error_") // see tracebacks
	})
}

// isOutput says whether a name of IPython's is one of an output.
func isOutput(name string) bool {
	if name == "_" || name == "__" || name == "___" {
		return true
	}
	digits, ok := strings.CutPrefix(name, "_")
	_, err := strconv.ParseUint(digits, 10, 32)
	return ok && err == nil
}

// tracebacks has everything that IPython and Python keep of the exception that was shown last.
func (l *lister) tracebacks(s shell, sys uint64) {
	l.kind = kindTraceback
	l.groups = append(l.groups, group{names: []string{"the last traceback"}, kind: Traceback})
	g := len(l.groups) - 1
	for _, name := range ofTraceback {
		if sys != 0 {
			l.hold(g, l.lookup(sys, name))
		}
	}
	for _, name := range []string{"error_before_exec", "error_in_exec"} {
		l.hold(g, l.attributeOf(s.result, name))
	}
	for _, shown := range s.shown {
		l.hold(g, l.attributeOf(shown, "tb"))
	}
	l.run()
	l.kind = kindModule
	for _, shown := range s.shown {
		l.inside(shown, func(name string, _ uint64) bool { return name == "tb" })
	}
}

// ofTraceback are the names that sys has it under.
var ofTraceback = []string{"last_traceback", "last_value", "last_exc"}

// threads has the locals of each frame that runs, and what else a thread has.
func (l *lister) threads(all []thread) {
	l.kind = kindThread
	for _, t := range all {
		for _, f := range t.frames {
			l.frameRoot(f, label{})
			if n, ok := l.known(f); ok {
				l.groups = append(l.groups, group{kind: Thread, targets: []int32{n}})
				l.extents.group = int32(-2 - (len(l.groups) - 1))
				l.extents.reference(l.walker, nobody, n)
				l.extents.group = nobody
			}
		}
	}
	l.run()
	for _, t := range all {
		l.mem.words(t.addr, uint64(min(l.heap.ThreadSize, maxBasic)/8), func(_, word uint64) bool {
			l.word(nobody, word, label{})
			return !l.done()
		})
	}
	l.run()
}

// module has each attribute of a module.
func (l *lister) module(m module) {
	if len(l.nodes) > l.notes.containers/2 { // two whole walks take too much memory at a time
		l.notes.wait()
	}
	l.kind = kindModule
	if !l.isShape(m.dict, shapeDict) {
		l.bind(m.name, m.addr, Module)
		l.run()
		return
	}
	for _, b := range l.namespace(m.dict) {
		if m.name == "sys" && slices.Contains(ofTraceback, b.name) || m.name == "builtins" && b.name == "_" {
			continue // taken
		}
		if t := l.objectType(b.value); t != nil && t.shape != shapeLeaf && !strings.HasPrefix(b.name, "__") {
			l.bind(m.name+"."+b.name, b.value, Module)
		}
	}
	l.run()
}

// listing adds up what was found.
func (l *lister) listing() Listing {
	e := l.extents
	out := Listing{Objects: len(l.nodes), Read: l.mem.total, Complete: l.stopped == nil}
	l.forget() // it takes memory of its own
	t := e.dominate(len(l.groups))
	for i, bytes := range e.bytes {
		if t.place[i] >= 0 {
			out.Total += bytes
		}
	}
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
	out.Names = make([]Listed, len(rows))
	marks, steps := make([]int32, len(l.addrs)), 0
	for i, r := range rows {
		l.describeName(&r.Listed, r.group)
		r.Reaches = t.reach(e, int32(t.nodes+r.group), int32(i+1), marks, &steps)
		out.Names[i] = r.Listed
	}
	return out
}

// forget gives back what only the walk needs.
func (l *lister) forget() {
	l.mem.release()
	l.freeNodes()
	l.index = table{}
	l.give()
	l.believed, l.raw, l.deferred, l.keys = nil, nil, nil, nil
}

// row is a group on its way into the listing.
type listedRow struct {
	Listed
	group int
}

// rows makes a row of each group that is worth one, most bytes first.
func (l *lister) rows(t *tree, complete bool) (rows []listedRow) {
	for i, g := range l.groups {
		at := t.place[t.nodes+i]
		if at < 0 || len(g.targets) == 0 {
			continue
		}
		r := listedRow{Listed{Kind: g.kind, Bytes: t.total[at], Device: t.device[at], Exact: complete && !t.unknown[at], Length: -1}, i}
		named := g.kind == Variable || g.kind == Output
		if !named && g.kind != Traceback && r.Bytes < leastModule || named && l.isShape(g.addr, shapeModule) {
			continue
		}
		if v := t.largestOf(int(at)); int(v) < t.nodes {
			r.Block, r.BlockSize = l.addrs[v], l.extents.bytes[v]
			if data := l.extents.data[v]; data != 0 {
				r.Block, r.Array = data, true
			}
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b listedRow) int { return cmp.Compare(b.Bytes+b.Device, a.Bytes+a.Device) })
	return rows
}

// reach adds up what a vertex leads to, without classes and modules and what only they lead to.
func (t *tree) reach(e *extents, from, mark int32, marks []int32, steps *int) (bytes uint64) {
	stack := []int32{from}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, to := range t.forward.of(v) {
			if int(to) >= t.nodes || marks[to] == mark || e.class[to] {
				continue
			}
			if *steps++; *steps > maxVisited {
				return 0
			}
			marks[to] = mark
			bytes += e.bytes[to]
			stack = append(stack, to)
		}
	}
	return bytes
}

// describeName fills in what is not of memory.
func (l *lister) describeName(r *Listed, g int) {
	group := &l.groups[g]
	names := group.names
	if slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, "Out[") }) {
		names = slices.DeleteFunc(slices.Clone(names), isOutput)
	}
	if group.kind == Thread {
		names = []string{"locals of " + l.frameName(group.targets[0])}
	}
	if len(names) > 0 {
		r.Name, r.Also = names[0], names[1:min(len(names), maxAlso+1)]
	}
	if !r.Array {
		r.Array = l.isShape(r.Block, shapeArray)
		r.Block, r.BlockSize = l.bufferOf(r.Block, r.BlockSize)
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
	text, _ := l.text(l.mem.word(l.frames[n].code+uint64(name)), maxText)
	return text + "()"
}

// bufferOf is the buffer of an object, where it has one: that is what an allocation is known by.
func (l *lister) bufferOf(addr, size uint64) (at, bytes uint64) {
	t := l.objectType(addr)
	if t == nil {
		return addr, size
	}
	switch {
	case t.shape == shapeArray:
		return l.mem.word(addr + 16), size
	case t.shape == shapeList:
		return l.mem.word(addr + uint64(l.heap.ListItems)), size
	case t.shape == shapeDict:
		return l.mem.word(addr + uint64(l.heap.DictKeys)), size
	case t.shape == shapeSet:
		return l.mem.word(addr + cpython.SetTable), size
	case l.lineage(t).origin == "bytearray":
		return l.mem.word(addr + 32), size
	case l.lineage(t).origin == "array.array":
		return l.mem.word(addr + 24), size
	}
	return addr - l.prefix(t), size
}

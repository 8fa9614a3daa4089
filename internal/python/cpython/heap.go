package cpython

import "io"

// Heap has the places of fields that a walk over CPython's objects follows, beyond those of [Offsets]. Fields are byte
// offsets in the object they are named after unless their comment differs; 0 marks a field that the version does not
// have. Offsets that are the same from 3.9 to 3.15 are constants below.
//
// Sources: offsetof() compiled against the headers of 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0; _Py_DebugOffsets of
// the build itself from 3.13, as far as it goes.
type Heap struct {
	Offsets
	Version     Version
	Interpreter uint64 // address of the main PyInterpreterState

	InterpGC   uint32 // struct _gc_runtime_state, which holds the heads of the generations' lists
	Collecting uint32 // in that struct, an int: not 0 while the collector runs
	ThreadSize uint32 // sizeof(PyThreadState), in bytes
	TupleItems uint32
	CachedKeys uint32 // PyHeapTypeObject.ht_cached_keys: the names of inline attribute values

	FunctionOffsets
	LocalsOffsets
	StackOffsets
}

// FunctionOffsets are the places in a PyFunctionObject.
type FunctionOffsets struct {
	FuncGlobals, FuncCode, FuncDefaults, FuncKwDefaults, FuncClosure, FuncModule uint32
}

// LocalsOffsets are the places of a PyCodeObject's variables: the number of locals, cells and free variables together
// (int32), and of the free ones among them. Before 3.11 there are three tuples of names instead of one, and CodeLocals
// counts the locals alone.
type LocalsOffsets struct {
	CodeLocals, CodeFree, CodeStackSize  uint32
	CodeLocalNames, CodeCells, CodeFrees uint32
}

// StackOffsets are the places in a frame of its locals, and of the values on its evaluation stack behind these.
type StackOffsets struct {
	FrameLocals   uint32 // f_localsplus or localsplus
	FrameMapping  uint32 // f_locals, a dict, of a class body or module; else null
	FrameFunction uint32 // f_funcobj, 3.11 and newer
	FrameStack    uint32 // see StackKind
	StackKind     StackKind
	FrameHolds    uint32 // 3.11 and newer: PyFrameObject.f_frame, the interpreter frame
}

// StackKind is the way to find the number of values on a frame's evaluation stack.
type StackKind uint8

// The kinds, by version.
const (
	StackTop     StackKind = iota // 3.9: a pointer behind the last value, null while the frame executes
	StackDepth                    // 3.10: an int32, -1 while the frame executes
	StackIndex                    // 3.11 to 3.13: an int32, counted from the locals, -1 while the frame executes
	StackPointer                  // 3.14 and newer: a pointer behind the last value, as of the last call that was made
)

// Offsets that are the same in 3.9 to 3.15: Include/cpython/object.h,
// Include/cpython/{setobject,traceback,weakrefobject}.h.
const (
	TypeBasicSize  = 32
	TypeItemSize   = 40
	TypeFlags      = 168
	TypeTraverse   = 184
	TypeWeakList   = 208 // tp_weaklistoffset
	TypeMembers    = 240 // an array of PyMemberDef
	TypeBase       = 256
	TypeDict       = 264
	TypeDictOffset = 288
	TypeBases      = 336
	TypeSize       = 360 // how much of a type this package's users read

	SetMask  = 32
	SetTable = 40

	TracebackNext  = 16
	TracebackFrame = 24
	TracebackLast  = 32 // tb_lasti, int32, in bytes
	TracebackLine  = 36 // tb_lineno, int32; -1 from 3.12 on where nobody has asked for it

	FrameObjectBack = 16 // PyFrameObject.f_back, 3.11 and newer

	WeakReferenceCallback = 24
)

// Flags of a type: tp_flags, Include/object.h.
const (
	FlagInlineValues = 1 << 2 // 3.13 and newer
	FlagManagedDict  = 1 << 4 // 3.11 and newer
	FlagHeapType     = 1 << 9
	FlagGC           = 1 << 14
	FlagInt          = 1 << 24
	FlagList         = 1 << 25
	FlagTuple        = 1 << 26
	FlagBytes        = 1 << 27
	FlagStr          = 1 << 28
	FlagDict         = 1 << 29
	FlagException    = 1 << 30
	FlagType         = 1 << 31
)

// Heap returns the places where the process keeps its objects. It fails before the interpreter is initialised. It fails
// with [ErrUnsupported] for a free-threaded build, where the references to an object are counted in two parts, and the
// collector has no lists.
func (p *Interpreter) Heap() (Heap, error) {
	if p.off.FreeThreaded {
		return Heap{}, &UnsupportedError{Version{3, p.minor, -1},
			"objects of a free-threaded build (no GIL) are not walked"}
	}
	addr, err := p.Address()
	if err != nil {
		return Heap{}, err
	}
	h := heapTable(p.off, p.minor)
	if p.debug != nil {
		p.debug.applyHeap(&h)
	}
	h.Interpreter = addr
	return h, nil
}

// Heap returns the layout of a build; Interpreter is 0. For a free-threaded build only FrameLocals and CachedKeys are
// right.
func (b *Binary) Heap() Heap {
	h := b.version.Heap()
	if b.FreeThreaded() {
		h.CachedKeys += headerGrowth
	}
	if b.debug != nil {
		b.debug.applyHeap(&h)
	}
	return h
}

// InstanceKind says where an instance has its attributes.
type InstanceKind uint8

// The kinds, by version.
const (
	InstancePointer  InstanceKind = 1 + iota // 3.9, 3.10: a pointer to a dict at tp_dictoffset
	InstanceTwoWords                         // 3.11: a dict's and the values' address in front of the object
	InstanceTagged                           // 3.12: one word for either in front of the object
	// 3.13 and newer: the values behind the object, or a dict's address in front of it
	InstanceInline
)

// Instances returns where instances of an ordinary class have their attributes.
func (v Version) Instances() InstanceKind {
	switch {
	case v.Minor <= 10:
		return InstancePointer
	case v.Minor == 11:
		return InstanceTwoWords
	case v.Minor == 12:
		return InstanceTagged
	}
	return InstanceInline
}

// Heap returns the layout of a version, from 3.9 to 3.15, as its headers give it; Interpreter is 0.
func (v Version) Heap() Heap { return heapTable(tableOffsets(v.Minor), v.Minor) }

// Memory reads the process's memory: offsets are addresses.
func (p *Interpreter) Memory() io.ReaderAt { return p.mem.r }

// heapTable returns a version's layout as its headers give it.
func heapTable(o Offsets, minor int) Heap {
	h := Heap{Offsets: o, Version: Version{3, minor, -1}, Collecting: 200, TupleItems: 24}
	h.CodeLocalNames = 96
	h.FuncGlobals, h.FuncCode, h.FuncDefaults, h.FuncKwDefaults = 16, 48, 56, 64
	h.FuncClosure, h.FuncModule = 72, 104
	h.CodeLocals, h.CodeFree, h.CodeStackSize = 72, 88, 64
	h.FrameLocals, h.FrameMapping, h.FrameFunction, h.FrameHolds = 72, 40, 16, 24
	h.FrameStack, h.StackKind = 64, StackIndex
	h.CachedKeys = 880
	switch minor {
	case 9:
		h.InterpGC, h.ThreadSize, h.CachedKeys = 616, 264, 864
		h.FuncGlobals, h.FuncCode, h.FuncDefaults, h.FuncKwDefaults = 24, 16, 32, 40
		h.FuncClosure, h.FuncModule = 48, 88
		h.FrameLocals, h.FrameStack, h.StackKind = 360, 72, StackTop
		heapFrameObject(&h)
	case 10:
		h.InterpGC, h.ThreadSize, h.CachedKeys = 616, 280, 872
		h.FrameLocals, h.FrameStack, h.StackKind = 352, 80, StackDepth
		heapFrameObject(&h)
	case 11:
		h.InterpGC, h.ThreadSize, h.CachedKeys = 648, 360, 872
		h.CodeLocals, h.CodeFree, h.CodeStackSize = 76, 92, 68
		h.FrameMapping, h.FrameFunction = 24, 0
	case 12:
		h.InterpGC, h.ThreadSize = 112, 288
	case 13:
		h.InterpGC, h.ThreadSize = 7400, 304
	case 14:
		h.InterpGC, h.ThreadSize, h.TupleItems, h.Collecting = 7408, 832, 32, 192
		h.FrameLocals, h.StackKind = 80, StackPointer
	case 15:
		h.InterpGC, h.ThreadSize, h.TupleItems, h.CachedKeys = 7400, 888, 32, 888
		h.Collecting = 112
		h.FrameLocals, h.StackKind = 80, StackPointer
	}
	return h
}

// heapFrameObject fills in the common part of 3.9 and 3.10: frames are objects, and code has three tuples of names.
func heapFrameObject(h *Heap) {
	h.CodeLocals, h.CodeFree, h.CodeStackSize = 28, 0, 32
	h.CodeLocalNames, h.CodeFrees, h.CodeCells = 72, 80, 88
	h.FrameMapping, h.FrameFunction, h.FrameHolds = 56, 0, 0
}

// applyHeap overwrites the table's offsets with those that the build has about itself.
func (d *debugOffsets) applyHeap(h *Heap) {
	d.overwrite([]debugField{
		{&h.InterpGC, [3]int{9, 10, 10}},
		{&h.Collecting, [3]int{71, 81, 94}},
		{&h.ThreadSize, [3]int{18, 21, 21}},
		{&h.FrameLocals, [3]int{31, 34, 42}},
		{&h.FrameStack, [3]int{0, 36, 44}},
		{&h.CodeLocalNames, [3]int{40, 45, 53}},
		{&h.TupleItems, [3]int{50, 56, 68}},
		{&h.CachedKeys, [3]int{0, 0, 66}},
	})
}

package holders

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/python/cpython"
)

// shape is the way in which an object of a type is looked into.
type shape uint8

const (
	shapeWords shape = iota // every word that could be a pointer to an object
	shapeLeaf               // nothing that leads to memory
	shapeDict
	shapeList
	shapeTuple
	shapeSet
	shapeDeque
	shapeType
	shapeModule
	shapeFunction
	shapeCell
	shapeFrame
	shapeGenerator
	shapeTraceback
	shapeException
	shapeWeak
	shapeArray
)

// typ has the known facts of a type.
type typ struct {
	addr    uint64
	up      uint64 // its tp_base
	name    string
	flags   uint64
	shape   shape
	basic   uint64 // bytes of an instance
	item    uint64 // and of each of its items
	own     uint64 // where words are looked at that the shape does not know
	base    uint64 // basic size of the built-in type that gave the shape
	dict    int64  // where an instance has its __dict__, 0 for nowhere
	weak    uint64 // where it has its weak references, 0 for nowhere
	members []member
	hides   uint64 // the collector does not visit references before this offset, see unvisited.go
	loose   uint64 // words before it are those of a type made in C: not known
	native  bool   // made by a library in C or C++: it may have memory of its own
	arrow   bool   // a class of pyarrow's, or derived from one
	shell   bool   // IPython's shell, from which everything is reached
	number  uint32 // in the notes of a survey, 0 for none
}

// types are the types of a process's objects.
type types struct {
	budget
	heap     cpython.Heap
	byAddr   map[uint64]*typ
	recent   *recentTypes      // of a survey; nil for none
	metatype uint64            // the address of type
	classes  map[uint64]string // of C++ objects, by their virtual tables
	notes    *notes            // of a survey that was made before, nil for none
}

// Bounds of the reads of a type.
const (
	maxTypes   = 1 << 17 // kept, wrong ones included
	maxName    = 128
	maxText    = 192     // bytes of a function's and a file's name
	maxAlso    = 8       // other names of an object
	maxLocals  = 1 << 16 // of a frame
	maxBases   = 64
	maxMembers = 64
	maxBasic   = 1 << 14 // bytes of an instance that are looked at
	maxItems   = 1 << 16 // words of its items
)

// leaves are the built-in types without references that matter.
var leaves = map[string]bool{
	"int": true, "float": true, "str": true, "bytes": true, "complex": true, "bool": true, "NoneType": true,
	"ellipsis":           true,
	"NotImplementedType": true, "code": true, "bytearray": true, "range": true,
	"wrapper_descriptor": true, "method_descriptor": true, "getset_descriptor": true, "member_descriptor": true,
	"classmethod_descriptor": true, "numpy.ufunc": true, "numpy.dtype": true, "numpy.generic": true,
}

var shapes = map[string]shape{
	"set": shapeSet, "frozenset": shapeSet, "collections.deque": shapeDeque, "module": shapeModule,
	"function": shapeFunction,
	"cell":     shapeCell, "frame": shapeFrame, "generator": shapeGenerator, "coroutine": shapeGenerator,
	"async_generator": shapeGenerator, "traceback": shapeTraceback, "weakref": shapeWeak,
	"weakref.ReferenceType": shapeWeak,
	"weakproxy":             shapeWeak, "weakcallableproxy": shapeWeak, "weakref.ProxyType": shapeWeak,
	"weakref.CallableProxyType": shapeWeak,
	"numpy.ndarray":             shapeArray, "numpy.void": shapeWords,
}

// standard are the C types of Python itself with memory that holds nothing beyond words.
var standard = []string{"functools.", "itertools.", "collections.", "_io.", "_thread.", "types.", "re.",
	"_contextvars.", "weakref.", "operator.", "_abc.", "numpy."}

// layouts are the modules of Python's own with types that keep in their words the objects that they own, and nothing
// else.
var layouts = []string{
	"_asyncio.", "_csv.", "_ctypes.", "_elementtree.", "_json.", "_lsprof.", "_multiprocessing.", "_pickle.", "_queue.",
	"_random.", "_socket.", "_sre.", "_ssl.",
	"_struct.", "_zoneinfo.", "array.", "datetime.", "decimal.", "mmap.", "pyexpat.", "select.", "sqlite3.", "ssl.",
	"xml.", "zlib.", "zoneinfo.",
}

// unowned are types of Python's own with words that refer to objects that they do not own, or that are not set when
// they are made (Objects/capsule.c, Python/context.c, Modules/itertoolsmodule.c).
var unowned = map[string]bool{
	"PyCapsule": true, "_contextvars.ContextVar": true, "ContextVar": true, "itertools._tee_dataobject": true,
	"itertools.teedataobject": true,
}

// isKnown reports whether the layout of a type made in C is known: it is Python's own. Types without a module's name in
// theirs lie beside type itself then.
func (y *types) isKnown(name string, addr uint64) bool {
	const image = 32 << 20
	if unowned[name] {
		return false
	}
	if !strings.Contains(name, ".") {
		return addr-y.metatype+image < 2*image
	}
	return isStandard(name) || slices.ContainsFunc(layouts, func(s string) bool { return strings.HasPrefix(name, s) })
}

// learnTypes finds type itself: the type of the type of sys.modules.
func (y *types) learnTypes() error {
	modules := y.mem.word(y.heap.Interpreter + uint64(y.heap.InterpModules))
	t := y.mem.word(y.mem.word(modules+8) + 8)
	if t == 0 || y.mem.word(t+8) != t {
		return fmt.Errorf("type at %#x: %w", t, cpython.ErrMalformed)
	}
	y.metatype = t
	return nil
}

// objectType returns the type of the object at an address, nil if there is no object: the survey's note, or else the
// present one.
func (y *types) objectType(addr uint64) *typ {
	if y.notes != nil {
		if id, ok := y.notes.index.get(addr, y.notes.addrs); ok {
			if number := y.notes.noted[id].typ(); number != 0 {
				return y.notes.types[number]
			}
		}
	}
	return y.typeNow(addr)
}

// typeNow is objectType without notes. A freed object is none: its reference count is 0, or it has been overwritten by
// a pointer to the next free one.
func (y *types) typeNow(addr uint64) *typ {
	if addr < lowestAddress || addr >= userSpace {
		return nil
	}
	head := y.mem.bytes(addr, 16)
	if head == nil {
		return nil
	}
	// A reference count takes the lower half of the word; the upper quarter has flags from 3.14 on, and 0 is between.
	refs := binary.LittleEndian.Uint64(head)
	if uint32(refs) == 0 || uint16(refs>>32) != 0 {
		return nil
	}
	return y.typeAt(binary.LittleEndian.Uint64(head[8:]))
}

// recentTypes are the types that a survey has met last, by a part of their addresses: most objects are of few types.
type recentTypes [1 << 10]*typ

func (r *recentTypes) at(addr uint64) **typ { return &r[addr>>5%uint64(len(r))] }

// typeAt returns the type at an address, nil if there is none.
func (y *types) typeAt(addr uint64) *typ {
	if y.recent != nil {
		if t := *y.recent.at(addr); t != nil && t.addr == addr {
			return t
		}
	}
	t, ok := y.byAddr[addr]
	if ok {
		if y.recent != nil && t != nil {
			*y.recent.at(addr) = t
		}
		return t
	}
	if addr&7 == 0 && addr >= lowestAddress && addr < userSpace && y.isType(addr) {
		t = y.readType(addr)
	}
	if len(y.byAddr) >= maxTypes {
		clear(y.byAddr)
	}
	y.byAddr[addr] = t
	return t
}

// isType reports whether the type of an object is type, or made by it: the chain of types ends there.
func (y *types) isType(addr uint64) bool {
	for range 8 {
		addr = y.mem.word(addr + 8)
		if addr == y.metatype {
			return true
		}
		if y.mem.word(addr+cpython.TypeFlags)&cpython.FlagType == 0 {
			return false
		}
	}
	return false
}

func (y *types) readType(addr uint64) *typ {
	raw := y.mem.bytes(addr, cpython.TypeSize)
	if raw == nil {
		return nil
	}
	field := func(at int) uint64 { return binary.LittleEndian.Uint64(raw[at:]) }
	t := &typ{
		addr: addr, flags: field(cpython.TypeFlags), basic: field(cpython.TypeBasicSize),
		item: field(cpython.TypeItemSize),
		dict: int64(field(cpython.TypeDictOffset)), weak: field(cpython.TypeWeakList),
	}
	name, base, members := field(int(y.heap.TypeName)), field(cpython.TypeBase), field(cpython.TypeMembers)
	t.up = base
	if int64(t.weak) < 0 { // in front of the object
		t.weak = 0
	}
	if t.basic < 16 || t.basic > 1<<20 || t.item > 1<<20 || t.weak > 1<<20 {
		return nil
	}
	t.name = strings.ToValidUTF8(y.mem.cString(name, maxName), "?")
	if t.name == "" {
		return nil
	}
	t.own, t.base = 16, 16
	y.classify(t, base)
	t.members, t.hides = y.readMembers(members), y.hidesOf(t)
	return t
}

// classify finds the shape: that of the first base that has one.
func (y *types) classify(t *typ, base uint64) {
	name, flags, basic, at := t.name, t.flags, t.basic, t.addr
	for range maxBases {
		heap := flags&cpython.FlagHeapType != 0
		if strings.HasSuffix(name, "InteractiveShell") {
			t.shell = true
		}
		if !heap || strings.Contains(name, ".") {
			if s, ok := shapes[name]; ok {
				t.shape, t.base = s, basic
				break
			}
			if leaves[name] {
				t.shape, t.base = shapeLeaf, basic
				break
			}
			t.native = t.native || strings.Contains(name, ".") && !isStandard(name)
			t.arrow = t.arrow || isArrow(name)
			if !y.isKnown(name, at) {
				t.loose = max(t.loose, basic)
			}
		}
		if base == 0 || base == at {
			break
		}
		at, name = base, y.mem.cString(y.mem.word(base+uint64(y.heap.TypeName)), maxName)
		flags, basic = y.mem.word(base+cpython.TypeFlags), y.mem.word(base+cpython.TypeBasicSize)
		base = y.mem.word(base + cpython.TypeBase)
	}
	y.classifyByFlags(t)
	switch t.shape {
	case shapeWords:
		if t.item > 0 {
			t.own = 24
		}
	case shapeLeaf:
		if t.dict != 0 || t.flags&(cpython.FlagManagedDict|cpython.FlagGC) != 0 && t.flags&cpython.FlagHeapType != 0 {
			t.shape, t.own = shapeWords, min(t.base, t.basic) // a subclass can have attributes
			t.item = 0
		}
	default:
		t.own = t.base
	}
	if own, ok := borrowed[t.name]; ok {
		t.own = own
	}
}

// borrowed are types with first words, up to this offset, that refer to objects without holding them: the links of the
// list of a cache's entries (lru_list_elem in Modules/_functoolsmodule.c).
var borrowed = map[string]uint64{"functools._lru_cache_wrapper": 56, lruLink: 40}

// classifyByFlags is for the types with flags for the type that they derive from.
func (y *types) classifyByFlags(t *typ) {
	const varSize = 24
	switch {
	case t.flags&cpython.FlagDict != 0:
		t.shape, t.base = shapeDict, 48
	case t.flags&cpython.FlagList != 0:
		t.shape, t.base = shapeList, 40
	case t.flags&cpython.FlagTuple != 0:
		t.shape, t.base = shapeTuple, uint64(y.heap.TupleItems)
	case t.flags&cpython.FlagType != 0:
		t.shape, t.base = shapeType, t.basic
	case t.flags&(cpython.FlagInt|cpython.FlagStr|cpython.FlagBytes) != 0:
		t.shape, t.base = shapeLeaf, max(t.base, varSize)
	case t.flags&cpython.FlagException != 0:
		t.shape, t.base = shapeException, 16
	}
}

func isStandard(name string) bool {
	for _, s := range standard {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	return false
}

// isShape reports whether an object is of a shape.
func (y *types) isShape(addr uint64, all ...shape) bool {
	t := y.objectType(addr)
	return t != nil && slices.Contains(all, t.shape)
}

// lruCache is a function with a cache around it.
const lruCache = "functools._lru_cache_wrapper"

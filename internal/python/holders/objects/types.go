// Package objects reads the objects of a Python, and those of libraries in C and C++, from outside. It reads the memory
// of the process, while that runs. [Memory] reads within a [Budget] and makes the process no larger; [Types] and
// [Reader] know the layouts of objects; [Sizer] knows how much memory each has; [Notes] has what is known of all.
//
// Everything read is hostile. Sizes, counts and depths are bounded. What cannot be read is 0, and what has impossible
// values is left out.
package objects

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/python/cpython"
)

// Types are the types of a process's objects.
type Types struct {
	Budget
	Heap     cpython.Heap
	ByAddr   map[uint64]*Type
	Recent   *RecentTypes      // of a survey; nil for none
	Metatype uint64            // the address of type
	Classes  map[uint64]string // of C++ objects, by their virtual tables
	Notes    *Notes            // of a survey that was made before, nil for none
}

// isKnown reports whether the layout of a type made in C is known, which means that the type is Python's own. If the
// type's name has no module in it, the type must lie in the same image as type itself.
func (y *Types) isKnown(name string, addr uint64) bool {
	const image = 32 << 20 // bytes from type, in both directions
	if unowned[name] {
		return false
	}
	if !strings.Contains(name, ".") {
		return addr-y.Metatype+image < 2*image
	}
	return isStandard(name) || slices.ContainsFunc(layouts, func(s string) bool { return strings.HasPrefix(name, s) })
}

// LearnTypes finds type itself: the type of the type of sys.modules.
func (y *Types) LearnTypes() error {
	modules := y.Mem.Word(y.Heap.Interpreter + uint64(y.Heap.InterpModules))
	t := y.Mem.Word(y.Mem.Word(modules+8) + 8)
	if t == 0 || y.Mem.Word(t+8) != t {
		return fmt.Errorf("type at %#x: %w", t, cpython.ErrMalformed)
	}
	y.Metatype = t
	return nil
}

// ObjectType returns the type of the object at an address, nil if there is no object: the survey's note, or else the
// present one.
func (y *Types) ObjectType(addr uint64) *Type {
	if note := y.Notes.At(addr); note != nil {
		return y.Notes.Types[note.TypeNumber()]
	}
	return y.TypeNow(addr)
}

// TypeNow is [Types.ObjectType] without the notes. A freed object is none: its reference count is 0, or it has been
// overwritten by a pointer to the next free one.
func (y *Types) TypeNow(addr uint64) *Type {
	if addr < LowestAddress || addr >= UserSpace {
		return nil
	}
	head := y.Mem.Bytes(addr, 16)
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

// RecentTypes are the types that a survey has met last, by a part of their addresses: most objects are of few types.
type RecentTypes [1 << 10]*Type

func (r *RecentTypes) at(addr uint64) **Type { return &r[addr>>5%uint64(len(r))] }

// typeAt returns the type at an address, nil if there is none.
func (y *Types) typeAt(addr uint64) *Type {
	if y.Recent != nil {
		if t := *y.Recent.at(addr); t != nil && t.Addr == addr {
			return t
		}
	}
	t, ok := y.ByAddr[addr]
	if ok {
		if y.Recent != nil && t != nil {
			*y.Recent.at(addr) = t
		}
		return t
	}
	if addr&7 == 0 && addr >= LowestAddress && addr < UserSpace && y.isType(addr) {
		t = y.readType(addr)
	}
	if len(y.ByAddr) >= maxTypes {
		clear(y.ByAddr)
	}
	y.ByAddr[addr] = t
	return t
}

// isType reports whether the type of an object is type, or made by it: the chain of types ends there.
func (y *Types) isType(addr uint64) bool {
	for range 8 {
		addr = y.Mem.Word(addr + 8)
		if addr == y.Metatype {
			return true
		}
		if y.Mem.Word(addr+cpython.TypeFlags)&cpython.FlagType == 0 {
			return false
		}
	}
	return false
}

func (y *Types) readType(addr uint64) *Type {
	raw := y.Mem.Bytes(addr, cpython.TypeSize)
	if raw == nil {
		return nil
	}
	field := func(at int) uint64 { return binary.LittleEndian.Uint64(raw[at:]) }
	t := &Type{
		Addr: addr, Flags: field(cpython.TypeFlags), Basic: field(cpython.TypeBasicSize),
		Item: field(cpython.TypeItemSize),
		Dict: int64(field(cpython.TypeDictOffset)), Weak: field(cpython.TypeWeakList),
	}
	name, base, members := field(int(y.Heap.TypeName)), field(cpython.TypeBase), field(cpython.TypeMembers)
	t.firstBase = base
	if int64(t.Weak) < 0 { // in front of the object
		t.Weak = 0
	}
	if t.Basic < 16 || t.Basic > 1<<20 || t.Item > 1<<20 || t.Weak > 1<<20 {
		return nil
	}
	t.Name = strings.ToValidUTF8(y.Mem.cString(name, MaxName), "?")
	if t.Name == "" {
		return nil
	}
	t.FirstWord, t.base = 16, 16
	y.classify(t, base)
	t.members, t.HiddenBefore = y.readMembers(members), y.hidesOf(t)
	return t
}

// classify finds the shape of a type: by its flags, or else by the names of the type and its bases.
func (y *Types) classify(t *Type, base uint64) {
	y.classifyByNames(t, base)
	y.classifyByFlags(t)
	t.placeFirstWord()
}

// classifyByNames gives a type the first shape that a name has: its own, or that of one of its bases. The types that it
// passes on the way leave their marks: IPython's shell, a native library, pyarrow, an unknown layout.
func (y *Types) classifyByNames(t *Type, base uint64) {
	name, flags, basic, at := t.Name, t.Flags, t.Basic, t.Addr // of the type that the loop has come to
	for range maxBases {
		if strings.HasSuffix(name, "InteractiveShell") {
			t.Shell = true
		}
		hasModule := strings.Contains(name, ".") // only the names of types made in C have one
		if madeInC := hasModule || flags&cpython.FlagHeapType == 0; madeInC {
			if s, ok := shapes[name]; ok {
				t.Shape, t.base = s, basic
				return
			}
			if leaves[name] {
				t.Shape, t.base = ShapeLeaf, basic
				return
			}
			t.Native = t.Native || hasModule && !isStandard(name)
			t.Arrow = t.Arrow || IsArrow(name)
			if !y.isKnown(name, at) {
				t.UnknownBefore = max(t.UnknownBefore, basic)
			}
		}
		if base == 0 || base == at {
			return
		}
		at, name = base, y.Mem.cString(y.Mem.Word(base+uint64(y.Heap.TypeName)), MaxName)
		flags, basic = y.Mem.Word(base+cpython.TypeFlags), y.Mem.Word(base+cpython.TypeBasicSize)
		base = y.Mem.Word(base + cpython.TypeBase)
	}
}

// varSize is the size of the header of an object with a number of items.
const varSize = 24

// placeFirstWord sets the first word of a type with a shape. A subclass of a leaf can have attributes: then it gets the
// shape of words.
func (t *Type) placeFirstWord() {
	isHeap := t.Flags&cpython.FlagHeapType != 0
	hasAttributes := t.Dict != 0 || isHeap && t.Flags&(cpython.FlagManagedDict|cpython.FlagGC) != 0
	switch t.Shape {
	case ShapeWords:
		if t.Item > 0 {
			t.FirstWord = varSize
		}
	case ShapeLeaf:
		if hasAttributes {
			t.Shape, t.FirstWord = ShapeWords, min(t.base, t.Basic)
			t.Item = 0
		}
	default:
		t.FirstWord = t.base
	}
	if own, ok := Borrowed[t.Name]; ok {
		t.FirstWord = own
	}
}

// classifyByFlags gives a type the shape of the built-in type that its flags say it derives from.
func (y *Types) classifyByFlags(t *Type) {
	switch {
	case t.Flags&cpython.FlagDict != 0:
		t.Shape, t.base = ShapeDict, 48
	case t.Flags&cpython.FlagList != 0:
		t.Shape, t.base = ShapeList, 40
	case t.Flags&cpython.FlagTuple != 0:
		t.Shape, t.base = ShapeTuple, uint64(y.Heap.TupleItems)
	case t.Flags&cpython.FlagType != 0:
		t.Shape, t.base = ShapeType, t.Basic
	case t.Flags&(cpython.FlagInt|cpython.FlagStr|cpython.FlagBytes) != 0:
		t.Shape, t.base = ShapeLeaf, max(t.base, varSize)
	case t.Flags&cpython.FlagException != 0:
		t.Shape, t.base = ShapeException, 16
	}
}

// IsShape reports whether an object has one of the shapes.
func (y *Types) IsShape(addr uint64, anyOf ...shape) bool {
	t := y.ObjectType(addr)
	return t != nil && slices.Contains(anyOf, t.Shape)
}

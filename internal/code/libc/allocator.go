package libc

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/code/machine"
)

// Operation is what an allocator's function does, and with which arguments.
type Operation uint8

// functions are the functions of an allocator by exported name: ISO C, POSIX, glibc (malloc/malloc.h).
var functions = map[string]Operation{
	"malloc": Alloc, "calloc": AllocArray, "realloc": Resize, "reallocarray": ResizeArray, "free": Free, "cfree": Free,
	"memalign": AllocAligned, "aligned_alloc": AllocAligned, "posix_memalign": AllocInto, "valloc": Alloc,
	"pvalloc":    Alloc,
	"free_sized": Free, "free_aligned_sized": Free,
}

// operators are C++'s new and delete by exported name. Those of libstdc++ call malloc and free, but an allocator's own
// operators may not.
var operators = operatorNames()

// operatorNames returns the mangled names of all forms of new and delete (Itanium C++ ABI, section 5.1).
func operatorNames() map[string]Operation {
	operators := map[string]Operation{}
	const nothrow, aligned = "RKSt9nothrow_t", "St11align_val_t"
	for _, kind := range []string{"w", "a"} {
		for _, tail := range []string{"", nothrow, aligned, aligned + nothrow} {
			operators["_Zn"+kind+"m"+tail] = Alloc
		}
	}
	for _, kind := range []string{"l", "a"} {
		for _, tail := range []string{"", nothrow, aligned, aligned + nothrow, "m", "m" + aligned} {
			operators["_Zd"+kind+"Pv"+tail] = Free
		}
	}
	return operators
}

// Names returns the exported names of all known functions, including C++'s operators.
func Names() []string {
	return slices.Concat(slices.Sorted(maps.Keys(functions)), slices.Sorted(maps.Keys(operators)))
}

// operationOf returns the operation of a function by its exported name, or None if the name is not known.
func operationOf(name string) Operation {
	if op, ok := functions[name]; ok {
		return op
	}
	return operators[name]
}

// Function is one of an allocator's functions, with the places of its probes.
type Function struct {
	Name      string
	Operation Operation
	Entry     machine.Site
	// Leaves are the sites at which the function's result is seen. There are none for Free, which has no result.
	Leaves []machine.ReturnSite
	// Complete is false if the function may also be left in other ways. Then a return probe at Start replaces Leaves,
	// unless the function is one of C++'s operators: these may throw, and a return probe does not survive that.
	Complete bool
	Start    machine.Site
}

// Defines returns those of [Names] that a library defines.
func Defines(r io.ReaderAt) ([]string, error) {
	l, err := machine.OpenLibrary(r, Names()...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return slices.DeleteFunc(Names(), func(name string) bool { return !l.Has(name) }), nil
}

// Owned returns, for each library, the names of the functions that calls reach. defines has the names that each library
// defines, in link order; calls reach the first of each name. C++'s operators count only in the library that calls of
// malloc reach, because all other operators call that malloc.
func Owned(defines [][]string) [][]string {
	owned := make([][]string, len(defines))
	taken := map[string]bool{}
	for i, names := range defines {
		ownsMalloc := slices.Contains(names, "malloc") && !taken["malloc"]
		for _, name := range names {
			_, operator := operators[name]
			if counts := !operator || ownsMalloc; counts && !taken[name] {
				owned[i] = append(owned[i], name)
				taken[name] = true
			}
		}
	}
	return owned
}

// Offsets returns the file offsets of all places of some functions.
func Offsets(functions []Function) (offsets []uint64) {
	for _, f := range functions {
		offsets = append(offsets, f.Entry.FileOffset, f.Start.FileOffset)
		for _, r := range f.Leaves {
			offsets = append(offsets, r.FileOffset)
		}
	}
	return offsets
}

// FindFunctions finds the places of an allocator's functions with the given names. It leaves out functions that only
// jump to another one of the same operation. It fails with [ErrUnknown].
func FindFunctions(r io.ReaderAt, names []string) ([]Function, error) {
	l, err := machine.OpenLibrary(r, names...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var out []Function
	seen := map[uint64]bool{} // by offset of the start: some functions have two names
	for _, name := range names {
		f := Function{Name: name, Operation: operationOf(name), Complete: true}
		sameOperation := func(alias string) bool { return operationOf(alias) == f.Operation }
		if slices.ContainsFunc(l.Aliases(name), sameOperation) {
			continue // jemalloc's new[] is a jump to its new
		}
		f.Entry, f.Start = l.Entry(name, f.Operation.arguments()), l.Start(name)
		if f.Operation == None || !f.Entry.Present() || seen[f.Start.FileOffset] {
			continue
		}
		seen[f.Start.FileOffset] = true
		switch f.Operation {
		case Free:
		case AllocInto: // the block is stored, not returned
			f.Leaves, f.Complete = l.Ends(name)
		default:
			f.Leaves, f.Complete = l.Returns(name)
		}
		out = append(out, f)
	}
	return out, nil
}

// MayThrow reports whether the function may end with an exception.
func (f Function) MayThrow() bool { return strings.HasPrefix(f.Name, "_Z") }

// arguments returns the number of arguments of an operation.
func (o Operation) arguments() int {
	switch o {
	case Alloc, Free:
		return 1
	case AllocArray, AllocAligned, Resize:
		return 2
	}
	return 3
}

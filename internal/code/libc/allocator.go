package libc

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/code/machine"
)

// Operation is the operation of an allocator's function.
type Operation uint8

// functions are an allocator's by exported name: ISO C, POSIX, glibc (malloc/malloc.h).
var functions = map[string]Operation{
	"malloc": Alloc, "calloc": AllocArray, "realloc": Resize, "reallocarray": ResizeArray, "free": Free, "cfree": Free,
	"memalign": AllocAligned, "aligned_alloc": AllocAligned, "posix_memalign": AllocInto, "valloc": Alloc,
	"pvalloc":    Alloc,
	"free_sized": Free, "free_aligned_sized": Free,
}

// operators are C++'s. Those of libstdc++ call malloc and free; an allocator that brings its own may not.
var operators = operatorNames()

// operatorNames are the mangled names of all forms of new and delete (Itanium C++ ABI, section 5.1).
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

// Names are the exported names of every function that is known, C++'s operators among them.
func Names() []string {
	return slices.Concat(slices.Sorted(maps.Keys(functions)), slices.Sorted(maps.Keys(operators)))
}

func operationOf(name string) Operation {
	if op, ok := functions[name]; ok {
		return op
	}
	return operators[name]
}

// Function is one of an allocator's functions with the places of its probes.
type Function struct {
	Name      string
	Operation Operation
	Entry     machine.Site
	// Leaves are the ways out, each of which gives the result; there are none for Free, which has no result, and where
	// Complete is false.
	Leaves []machine.ReturnSite
	// Complete is false where not all ways out are known. Then a return probe at Start serves, unless the function is
	// one of C++'s operators, which may throw.
	Complete bool
	Start    machine.Site
}

// Defines returns the names, of those in Names, that a library defines.
func Defines(r io.ReaderAt) ([]string, error) {
	l, err := machine.OpenLibrary(r, Names()...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return slices.DeleteFunc(Names(), func(name string) bool { return !l.Has(name) }), nil
}

// Owned returns which of the functions that libraries define, in link order, are the ones that calls reach: the first
// of each name. C++'s operators count only in the library that has malloc: others end in its malloc.
func Owned(defines [][]string) [][]string {
	owned := make([][]string, len(defines))
	taken := map[string]bool{}
	for i, names := range defines {
		first := slices.Contains(names, "malloc") && !taken["malloc"]
		for _, name := range names {
			_, operator := operators[name]
			if !taken[name] && (!operator || first) {
				owned[i] = append(owned[i], name)
			}
			taken[name] = taken[name] || !operator || first
		}
	}
	return owned
}

// Offsets returns where probes go for some functions, in bytes in their file.
func Offsets(found []Function) (all []uint64) {
	for _, f := range found {
		all = append(all, f.Entry.FileOffset, f.Start.FileOffset)
		for _, r := range f.Leaves {
			all = append(all, r.FileOffset)
		}
	}
	return all
}

// FindFunctions looks for the places of an allocator's functions with these names. It fails with [ErrUnknown].
func FindFunctions(r io.ReaderAt, names []string) ([]Function, error) {
	l, err := machine.OpenLibrary(r, names...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var out []Function
	seen := map[uint64]bool{} // some have two names
	for _, name := range names {
		f := Function{Name: name, Operation: operationOf(name), Complete: true}
		if slices.ContainsFunc(l.Aliases(name), func(to string) bool { return operationOf(to) == f.Operation }) {
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

// arguments is how many an operation has.
func (o Operation) arguments() int {
	switch o {
	case Alloc, Free:
		return 1
	case AllocArray, AllocAligned, Resize:
		return 2
	}
	return 3
}

package libc

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// Arrow's library, libarrow, takes memory through pools. A pool is an object of a class derived from arrow::MemoryPool.
// The functions of these classes have no symbols, so they are found through the class's table of virtual functions
// (vtable). The table is found by its symbol or, if that is not exported, by the class's type information. Allocate,
// Reallocate and Free are the third to fifth entry of the table, behind the two destructors (Itanium C++ ABI, section
// 2.5; cpp/src/arrow/memory_pool.h).
//
// The functions have a parameter for the alignment since Arrow 11. Older libraries are refused. Classes that pass
// requests on to another pool are left out, because the other pool sees the requests. The blocks of unknown classes are
// not seen, so their names are reported.

// IsArrow recognizes Arrow's library by the name of its file. The name is only a hint; [FindPools] looks at the
// symbols.
func IsArrow(file string) bool {
	name := path.Base(file)
	return name == "libarrow.so" || strings.HasPrefix(name, "libarrow.so.")
}

// ErrUnknownPools is the error for a library whose pools cannot be probed.
var ErrUnknownPools = errors.New("its memory pools are not known for sure")

// PoolFunction is a function of a pool's class, with the places of its probes.
type PoolFunction struct {
	Pool string // the class, such as SystemMemoryPool
	// Entry is the site at which the arguments are in their registers.
	Entry machine.Site
	// Leaves are the sites at which the function has stored its results, see [machine.Code.Ends]. Free has none.
	Leaves []machine.ReturnSite
}

// PoolSites are the places of the pools in a library.
type PoolSites struct {
	Allocate, Reallocate, Free []PoolFunction
	Pools                      []string // the classes that are probed
	Others                     []string // the classes that are not known
}

// Offsets returns the file offsets of all places.
func (s PoolSites) Offsets() (offsets []uint64) {
	for _, f := range slices.Concat(s.Allocate, s.Reallocate, s.Free) {
		offsets = append(offsets, f.Entry.FileOffset)
		for _, r := range f.Leaves {
			offsets = append(offsets, r.FileOffset)
		}
	}
	return offsets
}

// The known classes of pools.
var (
	// own are the classes that take memory from an allocator: two for each allocator, one of which also looks for
	// mistakes.
	own = []string{"SystemMemoryPool", "SystemDebugMemoryPool", "JemallocMemoryPool", "JemallocDebugMemoryPool",
		"MimallocMemoryPool", "MimallocDebugMemoryPool"}
	// passing are the classes that pass requests on to another pool.
	passing = []string{"MemoryPool", "ProxyMemoryPool", "LoggingMemoryPool", "CappedMemoryPool"}
)

// Mangled names: of the tables of virtual functions, and of a function whose parameters show that pools know
// alignments.
const (
	tablePrefix = "_ZTVN5arrow"
	poolSuffix  = "MemoryPool"
	aligned     = "_ZN5arrow15ProxyMemoryPool8AllocateEllPPh" // (long, long, unsigned char **)
)

// The offsets of the functions in a table, in bytes. Before them are the offset to the object's top, a pointer to the
// type information, and two destructors.
const (
	allocateSlot   = 32
	reallocateSlot = 40
	freeSlot       = 48
)

// maxClasses is how many classes of pools a library may have. Arrow 25 has eight.
const maxClasses = 64

// classOf returns the class whose table of virtual functions has a symbol. ok is false unless the class is a pool
// directly in namespace arrow.
func classOf(symbol string) (class string, ok bool) {
	rest, ok := strings.CutPrefix(symbol, tablePrefix)
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	length, err := strconv.Atoi(rest[:digits])
	if !ok || err != nil || length < 0 || len(rest) != digits+length+1 || !strings.HasSuffix(rest, "E") {
		return "", false
	}
	class = rest[digits : digits+length]
	return class, strings.HasSuffix(class, poolSuffix)
}

// FindPools finds the places of the pools in Arrow's library. It fails with [ErrUnknownPools].
func FindPools(r io.ReaderAt) (PoolSites, error) {
	code, err := machine.OpenCode(r, func(name string) bool {
		_, pool := classOf(name)
		return pool || name == aligned
	})
	if err != nil {
		return PoolSites{}, fmt.Errorf("%w: %w", ErrUnknownPools, err)
	}
	f := poolFinder{code: code, tables: map[string]uint64{}}
	for name, symbol := range code.Symbols() {
		f.aligned = f.aligned || name == aligned
		if class, ok := classOf(name); ok {
			f.tables[class] = symbol.Value
		}
	}
	if err := f.addUnexported(); err != nil {
		return PoolSites{}, err
	}
	if err := f.find(); err != nil {
		return PoolSites{}, err
	}
	return f.sites, nil
}

// poolFinder collects the sites of a library.
type poolFinder struct {
	code    *machine.Code
	tables  map[string]uint64 // by class: the address of its table of virtual functions
	aligned bool
	sites   PoolSites
}

// find checks the classes, and finds the functions of those that take memory.
func (f *poolFinder) find() error {
	switch {
	case len(f.tables) == 0:
		return fmt.Errorf("%w: it has no class of pools", ErrUnknownPools)
	case len(f.tables) > maxClasses:
		return fmt.Errorf("%w: %d classes of pools", ErrUnknownPools, len(f.tables))
	case !f.aligned:
		return fmt.Errorf("%w: they are not asked for an alignment (Arrow before 11)", ErrUnknownPools)
	}
	for class := range f.tables {
		if !slices.Contains(own, class) && !slices.Contains(passing, class) {
			f.sites.Others = append(f.sites.Others, class)
		}
	}
	slices.Sort(f.sites.Others)
	for _, class := range own {
		if table, ok := f.tables[class]; ok {
			if err := f.findFunctions(class, table); err != nil {
				return err
			}
		}
	}
	if len(f.sites.Pools) == 0 {
		return fmt.Errorf("%w: it has no class that takes memory", ErrUnknownPools)
	}
	return nil
}

// The numbers of the functions' arguments, with the pool itself. A function that returns a Status gets an address for
// it as a further argument, which does not count.
const (
	allocateArguments   = 4 // size, alignment, out
	reallocateArguments = 5 // old size, new size, alignment, pointer
	freeArguments       = 3 // buffer, size
)

// findFunctions finds the functions of a class whose table of virtual functions is at an address.
func (f *poolFinder) findFunctions(class string, table uint64) error {
	for _, function := range []struct {
		slot      uint64
		arguments int
		returns   bool // a Status
		into      *[]PoolFunction
	}{
		{allocateSlot, allocateArguments, true, &f.sites.Allocate},
		{reallocateSlot, reallocateArguments, true, &f.sites.Reallocate},
		{freeSlot, freeArguments, false, &f.sites.Free},
	} {
		entry, ok := f.code.Function(table + function.slot)
		if !ok {
			return fmt.Errorf("%w: the functions of %s are not in its table", ErrUnknownPools, class)
		}
		found := PoolFunction{Pool: class}
		if function.returns {
			found.Entry = f.code.EntryStoring(class, entry, function.arguments)
			found.Leaves, ok = f.code.Ends(class, entry)
		} else {
			found.Entry = f.code.Entry(class, entry, function.arguments)
		}
		if !ok || !found.Entry.Present() {
			return fmt.Errorf("%w: the ways out of the functions of %s", ErrUnknownPools, class)
		}
		// Linkers merge equal functions, so two classes may share one.
		sameCode := func(other PoolFunction) bool { return other.Entry.Address == found.Entry.Address }
		if !slices.ContainsFunc(*function.into, sameCode) {
			*function.into = append(*function.into, found)
		}
	}
	f.sites.Pools = append(f.sites.Pools, class)
	return nil
}

// NeededArrow returns the name of Arrow's library in the dynamic section of an extension module, or "" if the module
// does not need that library.
func NeededArrow(r io.ReaderAt) string {
	for _, name := range elffile.Needed(r) {
		if IsArrow(name) && !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

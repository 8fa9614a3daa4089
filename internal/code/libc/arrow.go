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
// The class's table of virtual functions (vtable) is found by its symbol, or by its type information where it is not
// exported; the functions have no names. The functions of each class that takes memory from an allocator are looked for
// in its table: Allocate, Reallocate and Free are the third to fifth entry, behind the two destructors (Itanium C++
// ABI, section 2.5; cpp/src/arrow/memory_pool.h). Since Arrow 11 they are passed an alignment; a library with pools
// that are not is refused. Classes that stand in front of another pool hand requests on, so they are left out. A class
// that is not known is named, as its blocks are not seen.

// IsArrow recognizes Arrow's library by the name of its file. The name is a hint.
func IsArrow(file string) bool {
	name := path.Base(file)
	return name == "libarrow.so" || strings.HasPrefix(name, "libarrow.so.")
}

// ErrUnknownPools is the error for a library with pools that cannot be seen.
var ErrUnknownPools = errors.New("its memory pools are not known for sure")

// PoolFunction is a function of a pool that takes memory, and where it is seen.
type PoolFunction struct {
	Pool string // its class: SystemMemoryPool
	// Entry is the place where its arguments are in their registers, Leaves the places where everything that it stores
	// is stored, on every way out. Freed ones have no Leaves.
	Entry  machine.Site
	Leaves []machine.ReturnSite
}

// PoolSites are the places in a library.
type PoolSites struct {
	Allocate, Reallocate, Free []PoolFunction
	Pools                      []string // the classes that are seen
	Others                     []string // classes of pools that are not known
}

// Offsets are all places in the file.
func (s PoolSites) Offsets() (all []uint64) {
	for _, f := range slices.Concat(s.Allocate, s.Reallocate, s.Free) {
		all = append(all, f.Entry.FileOffset)
		for _, r := range f.Leaves {
			all = append(all, r.FileOffset)
		}
	}
	return all
}

// Classes of pools, by the names that the library has them under: those that take memory, one for each allocator and
// one that looks for mistakes with it, and those that hand requests on.
var (
	own = []string{"SystemMemoryPool", "SystemDebugMemoryPool", "JemallocMemoryPool", "JemallocDebugMemoryPool",
		"MimallocMemoryPool", "MimallocDebugMemoryPool"}
	passing = []string{"MemoryPool", "ProxyMemoryPool", "LoggingMemoryPool", "CappedMemoryPool"}
)

// Names of symbols, mangled: the tables of virtual functions, and a function that shows which arguments pools have.
const (
	tablePrefix = "_ZTVN5arrow"
	poolSuffix  = "MemoryPool"
	aligned     = "_ZN5arrow15ProxyMemoryPool8AllocateEllPPh" // (long, long, unsigned char **)
)

// Where the functions are in a table: behind the offset to the object's top, its type, and two destructors.
const (
	allocateSlot   = 32
	reallocateSlot = 40
	freeSlot       = 48
)

// maxClasses bounds how many classes of pools a library has; Arrow 25 has eight.
const maxClasses = 64

// classOf returns the class of arrow's with a table of some name; ok is false for all but pools. Classes in namespaces
// of arrow's are none.
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

// FindPools looks for the places. It fails with [ErrUnknownPools].
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
	if err := f.named(); err != nil {
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
			if err := f.pool(class, table); err != nil {
				return err
			}
		}
	}
	if len(f.sites.Pools) == 0 {
		return fmt.Errorf("%w: it has no class that takes memory", ErrUnknownPools)
	}
	return nil
}

// The numbers of the functions' arguments: the pool, and these. A Status is returned at an address that is passed, too.
const (
	allocateArguments   = 4 // size, alignment, out
	reallocateArguments = 5 // old size, new size, alignment, pointer
	freeArguments       = 3 // buffer, size
)

// pool looks at a class's functions.
func (f *poolFinder) pool(class string, table uint64) error {
	for _, one := range []struct {
		slot      uint64
		arguments int
		returns   bool
		into      *[]PoolFunction
	}{
		{allocateSlot, allocateArguments, true, &f.sites.Allocate},
		{reallocateSlot, reallocateArguments, true, &f.sites.Reallocate},
		{freeSlot, freeArguments, false, &f.sites.Free},
	} {
		entry, ok := f.code.Function(table + one.slot)
		if !ok {
			return fmt.Errorf("%w: the functions of %s are not in its table", ErrUnknownPools, class)
		}
		found := PoolFunction{Pool: class}
		if !one.returns {
			found.Entry = f.code.Entry(class, entry, one.arguments)
		} else {
			found.Entry = f.code.EntryStoring(class, entry, one.arguments)
			found.Leaves, ok = f.code.Ends(class, entry)
		}
		if !ok || !found.Entry.Present() {
			return fmt.Errorf("%w: the ways out of the functions of %s", ErrUnknownPools, class)
		}
		// equal code may be there once
		if !slices.ContainsFunc(*one.into,
			func(other PoolFunction) bool { return other.Entry.Address == found.Entry.Address }) {
			*one.into = append(*one.into, found)
		}
	}
	f.sites.Pools = append(f.sites.Pools, class)
	return nil
}

// NeededArrow returns the name under which an extension module has Arrow's library loaded, from its dynamic section; ""
// if it needs none.
func NeededArrow(r io.ReaderAt) string {
	for _, name := range elffile.Needed(r) {
		if IsArrow(name) && !strings.Contains(name, "/") {
			return name
		}
	}
	return ""
}

package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cilium/ebpf"
)

// Nearly all of a load's time is the kernel's verification of the programs. It verifies each on its own, and holds no
// lock meanwhile for a loader with CAP_BPF (bpf_check of kernel/bpf/verifier.c: bpf_verifier_lock is for other
// loaders). So the maps are made first, and several programs are loaded over them at the same time.

// mostAtOnce is the largest number of maps or programs that are loaded at the same time. For each, the verifier takes
// some MiB of kernel memory.
const mostAtOnce = 8

// together calls do for each number below n, in ascending order, several at the same time: at most mostAtOnce and
// GOMAXPROCS. After an error no further call begins. The returned error is that of the lowest number with an error, so
// the same input always gives the same error.
func together(n int, do func(i int) error) error {
	var group sync.WaitGroup
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	for range min(runtime.GOMAXPROCS(0), mostAtOnce, n) {
		group.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	group.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// mapAlone returns the spec of one map of an object, with the variables in it.
func mapAlone(object *ebpf.CollectionSpec, name string) *ebpf.CollectionSpec {
	inside := maps.Clone(object.Variables)
	maps.DeleteFunc(inside, func(_ string, v *ebpf.VariableSpec) bool { return v.SectionName != name })
	return &ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{name: object.Maps[name]}, Variables: inside,
		Types: object.Types, ByteOrder: object.ByteOrder}
}

// loadMaps creates the maps of an object, the largest first, and its variables. The caller must close them.
func loadMaps(object *ebpf.CollectionSpec, o ebpf.CollectionOptions) (*ebpf.Collection, error) {
	size := func(name string) uint64 {
		m := object.Maps[name]
		return uint64(m.MaxEntries) * uint64(m.KeySize+m.ValueSize)
	}
	names := slices.SortedFunc(maps.Keys(object.Maps), func(a, b string) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b))
	})
	parts := make([]*ebpf.Collection, len(names))
	err := together(len(names), func(i int) (err error) {
		parts[i], err = ebpf.NewCollectionWithOptions(mapAlone(object, names[i]), o)
		return err
	})
	whole := &ebpf.Collection{Programs: map[string]*ebpf.Program{}, Maps: map[string]*ebpf.Map{},
		Variables: map[string]*ebpf.Variable{}}
	for _, part := range parts {
		if part != nil {
			maps.Copy(whole.Maps, part.Maps)
			maps.Copy(whole.Variables, part.Variables)
		}
	}
	if err != nil {
		whole.Close()
		return nil, err
	}
	return whole, nil
}

// loadConstants creates the read-only variables for copy copyNumber of the programs. The caller must close them.
func loadConstants(object *ebpf.CollectionSpec, copyNumber uint32, o ebpf.CollectionOptions) (*ebpf.Collection, error) {
	const variable = "program_copy"
	constants := mapAlone(object, ".rodata")
	own := constants.Variables[variable].Copy()
	if err := own.Set(copyNumber); err != nil {
		return nil, fmt.Errorf("set %s: %w", variable, err)
	}
	constants.Variables[variable] = own
	return ebpf.NewCollectionWithOptions(constants, o)
}

// loader loads programs over existing maps.
type loader struct {
	options  ebpf.CollectionOptions
	programs []*loading
}

// loading is a program that is being loaded.
type loading struct {
	spec   *ebpf.ProgramSpec
	maps   map[string]*ebpf.Map
	loaded *ebpf.Program
}

// add registers a program that [loader.run] will load.
func (l *loader) add(spec *ebpf.ProgramSpec, over map[string]*ebpf.Map) *loading {
	p := &loading{spec: spec, maps: over}
	l.programs = append(l.programs, p)
	return p
}

// run loads the registered programs, the longest first. The caller must close them. If the kernel refuses any, none
// stays loaded, and the error is that of the longest refused program: a user always reads the same single reason.
func (l *loader) run() error {
	slices.SortStableFunc(l.programs, func(a, b *loading) int {
		return cmp.Or(cmp.Compare(len(b.spec.Instructions), len(a.spec.Instructions)),
			cmp.Compare(a.spec.Name, b.spec.Name))
	})
	err := together(len(l.programs), func(i int) (err error) {
		l.programs[i].loaded, err = l.load(l.programs[i])
		return err
	})
	if err != nil {
		return errors.Join(err, l.close())
	}
	return nil
}

// load loads one program.
func (l *loader) load(p *loading) (*ebpf.Program, error) {
	spec := p.spec.Copy() // its instructions will be changed
	for i := range spec.Instructions {
		ins := &spec.Instructions[i]
		if !ins.IsLoadFromMap() || ins.Reference() == "" {
			continue
		}
		m := p.maps[ins.Reference()]
		if m == nil {
			return nil, fmt.Errorf("program %s: missing map %s", spec.Name, ins.Reference())
		}
		if err := ins.AssociateMap(m); err != nil {
			return nil, fmt.Errorf("program %s: map %s: %w", spec.Name, ins.Reference(), err)
		}
	}
	// It is loaded as a collection, since only a collection accepts a cache of the kernel's types.
	alone := &ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{spec.Name: spec}}
	collection, err := ebpf.NewCollectionWithOptions(alone, l.options)
	if err != nil {
		return nil, err
	}
	return collection.Programs[spec.Name], nil
}

// close unloads everything that was loaded.
func (l *loader) close() error {
	var errs []error
	for _, p := range l.programs {
		if p.loaded != nil {
			errs = append(errs, p.loaded.Close())
		}
	}
	return errors.Join(errs...)
}

// ErrFiles is the error for a limit on open files that is too low.
var ErrFiles = errors.New("too few files may be open at once")

// leastFiles is the number of files that a session must be allowed to have open: the object and its links take 177, a
// Jupyter kernel and its libraries some dozens, and the processes that it starts some more.
const leastFiles = 288

// CheckFiles fails with [ErrFiles] if the limit on open files is too low to load the object. Without this check, the
// errors would look like those of a kernel that lacks needed features.
func CheckFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("ask how many files may be open: %w", err)
	}
	if limit.Cur < leastFiles {
		return fmt.Errorf("%w: %d, and tracing takes %d", ErrFiles, limit.Cur, leastFiles)
	}
	return nil
}

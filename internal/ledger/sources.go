package ledger

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// sources are the inputs of a load. They do not change once they are read.
type sources struct {
	object      *ebpf.CollectionSpec // as it was compiled
	kernel      *btf.Cache           // the kernel's own types
	multiUprobe bool                 // multi-uprobe links work here
}

// kept are the sources of the last load that succeeded, as long as they are wanted.
var kept struct {
	sync.Mutex
	wanted int
	last   *sources
}

// toConfigure is the object for one load, which changes its own copies of maps, variables and programs. Most of it are
// instructions, which are shared: they are replaced, not changed.
func (s *sources) toConfigure() *ebpf.CollectionSpec {
	own := &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{}, Programs: map[string]*ebpf.ProgramSpec{},
		Variables: map[string]*ebpf.VariableSpec{},
		Types:     s.object.Types, ByteOrder: s.object.ByteOrder,
	}
	for name, m := range s.object.Maps {
		own.Maps[name] = m.Copy()
	}
	for name, p := range s.object.Programs {
		shallow := *p
		own.Programs[name] = &shallow
	}
	for name, v := range s.object.Variables {
		own.Variables[name] = v.Copy()
	}
	return own
}

// KeepSources is for a program that loads more than once: it keeps the files that a load reads, and the features that
// it tries, for the next load, until release is called. They take 10 MiB.
func KeepSources() (release func()) {
	kept.Lock()
	defer kept.Unlock()
	kept.wanted++
	return sync.OnceFunc(func() {
		kept.Lock()
		defer kept.Unlock()
		if kept.wanted--; kept.wanted == 0 {
			kept.last = nil
		}
	})
}

// keep keeps the sources of a successful load, if they are wanted. The sources of a failed load may have been read
// without the necessary rights.
func (s *sources) keep() {
	kept.Lock()
	defer kept.Unlock()
	if kept.wanted > 0 {
		kept.last = s
	}
}

// readSources reads the sources, all at the same time, unless they are kept. A kernel without types is no error here: a
// caller that requests the types gets it.
func readSources() (*sources, error) {
	kept.Lock()
	last := kept.last
	kept.Unlock()
	if last != nil {
		return last, nil
	}
	s := &sources{kernel: btf.NewCache()}
	var all sync.WaitGroup
	all.Go(func() { _, _ = s.kernel.Kernel() })
	all.Go(func() { s.multiUprobe = multiUprobeWorks() })
	object, err := loadKernel()
	all.Wait()
	if err != nil {
		return nil, fmt.Errorf("read the BPF object: %w", err)
	}
	s.object = object
	return s, nil
}

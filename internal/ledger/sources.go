package ledger

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// sources are the inputs of a load. They never change once they are read.
type sources struct {
	object      *ebpf.CollectionSpec // as it was compiled
	kernel      *btf.Cache           // the kernel's own types
	multiUprobe bool                 // multi-uprobe links work here
}

// kept has the sources of the last load that succeeded, while wanted (the number of callers of KeepSources) is not 0.
var kept struct {
	sync.Mutex
	wanted int
	last   *sources
}

// toConfigure returns a copy of the object for one load, which may change its maps, variables and programs. The copies
// share their instructions, which a load may replace, but not change.
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

// KeepSources keeps what a load reads and tries for the next load, until release is called. It takes 10 MiB, and helps
// a program that loads more than once.
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

// readSources returns the kept sources, or reads them, all at the same time. A kernel without types is no error here:
// the error comes when a caller asks for the types.
func readSources() (*sources, error) {
	kept.Lock()
	last := kept.last
	kept.Unlock()
	if last != nil {
		return last, nil
	}
	s := &sources{kernel: btf.NewCache()}
	var readers sync.WaitGroup
	readers.Go(func() { _, _ = s.kernel.Kernel() })
	readers.Go(func() { s.multiUprobe = multiUprobeWorks() })
	object, err := loadKernel()
	readers.Wait()
	if err != nil {
		return nil, fmt.Errorf("read the BPF object: %w", err)
	}
	s.object = object
	return s, nil
}

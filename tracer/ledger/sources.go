package ledger

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// sources are what a load begins with. Nothing of them is changed once they are read.
type sources struct {
	object      *ebpf.CollectionSpec // as it was compiled
	kernel      *btf.Cache           // the kernel's own types
	multiUprobe bool                 // multi-uprobe links work here
}

// kept are the sources of the last load that succeeded, as long as somebody wants them.
var kept struct {
	sync.Mutex
	wanted int
	last   *sources
}

// toConfigure is the object for one load, which changes what belongs to maps, variables and programs. Instructions are
// most of it, and are shared: they are replaced, not changed.
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

// KeepSources is for a program that loads more than once: what a load reads and tries first is kept for the next one,
// 10 MiB, until release is called.
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

// keep keeps what has served a load, if it is wanted: what has not may have been read without the rights to.
func (s *sources) keep() {
	kept.Lock()
	defer kept.Unlock()
	if kept.wanted > 0 {
		kept.last = s
	}
}

// readSources reads the sources, all at the same time, unless they are kept. That the kernel has no types is for who
// asks for them to say.
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

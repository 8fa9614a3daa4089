package ledger

import (
	"fmt"
	"sync"
	"weak"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// sources are what a load begins with. Nothing of them is changed once they are read.
type sources struct {
	object      *ebpf.CollectionSpec // as it was compiled
	kernel      *btf.Cache           // the kernel's own types
	multiUprobe bool                 // multi-uprobe links work here
}

// lastSources are those of the last load that succeeded, for the next one in this program. They are kept until the garbage collector wants their 10 MiB:
// a session loads once.
var lastSources struct {
	sync.Mutex
	pointer weak.Pointer[sources]
}

// readSources reads the sources, all at the same time. That the kernel has no types is for who asks for them to say.
func readSources() (*sources, error) {
	lastSources.Lock()
	last := lastSources.pointer.Value()
	lastSources.Unlock()
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

// keep keeps what has served a load: what has not may have been read without the rights to.
func (s *sources) keep() {
	lastSources.Lock()
	defer lastSources.Unlock()
	lastSources.pointer = weak.Make(s)
}

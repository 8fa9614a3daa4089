package ledger

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Pages are the pages in which processes count small blocks themselves: see bpf/counts.h. They are made at the load,
// because a confined program makes no maps. A page is used once: any process may still have it mapped that
// somebody has passed its descriptor to.
type Pages struct {
	objects    *kernelObjects
	operations *operations
	unused     []*ebpf.Map // the first has the lowest number
}

// ErrNoPage is the error for a process that cannot count blocks itself now.
var ErrNoPage = errors.New("the process cannot count arrays itself")

// Counted says which blocks a process counts itself.
type Counted struct {
	// Tensors: PyTorch's small blocks on the CPU. Otherwise they are small blocks of NumPy.
	Tensors bool
	Handler uint64 // of NumPy's blocks: the address of the memory handler that makes them
	Live    uint64 // of NumPy's blocks: the bytes that there are, from when the process had no page
}

// prepare makes the pages. spec is that of the map that has them. heap is the last one, nil if there is none.
func (p *Pages) prepare(spec *ebpf.MapSpec, heap *HeapPage) error {
	if heap != nil {
		if err := p.objects.CountPages.Put(spec.MaxEntries-1, heap.page); err != nil {
			return classify("use a page in which a command counts", err)
		}
	}
	for number := range spec.MaxEntries - 1 {
		page, err := ebpf.NewMap(spec.InnerMap)
		if err == nil {
			p.unused = append(p.unused, page)
			err = p.objects.CountPages.Put(number, page)
		}
		if err != nil {
			return classify("make a page in which a process counts", err)
		}
	}
	return nil
}

// Give gives a process the next page: its small blocks move the meter as the page says. All of the process's other
// blocks of NumPy must be counted by the probes in NumPy ([ArraysInside]), else it fails with [ErrNoPage], as it does
// for a process that has a page for such blocks, and where no page is left. The caller closes the page's descriptor.
func (p *Pages) Give(pid int, blocks Counted) (fd int, err error) {
	if len(p.unused) == 0 {
		return -1, fmt.Errorf("%w: the session has no page left", ErrNoPage)
	}
	const first = uint32(0)
	if err := p.unused[0].Put(first, [...]uint64{blocks.Live, 0, 0, 0, 0}); err != nil { // struct counts
		return -1, fmt.Errorf("prepare a page: %w", err)
	}
	number := p.objects.CountPages.MaxEntries() - uint32(len(p.unused))
	request := kernelControl{Page: number, Handler: blocks.Handler, Counts: uint32(kernelOwnCountsCOUNTS_NUMPY)}
	if blocks.Tensors {
		request.Counts = uint32(kernelOwnCountsCOUNTS_TORCH)
	}
	if _, err := p.operations.run(kernelOperationOP_COUNTS, pid, request); err != nil {
		return -1, err
	}
	after, err := p.operations.answer()
	if err != nil {
		return -1, err
	}
	if after.Page != number {
		return -1, fmt.Errorf("%w: it does already, or its other blocks have no probes", ErrNoPage)
	}
	page := p.unused[0]
	p.unused = p.unused[1:]
	fd, err = unix.FcntlInt(uintptr(page.FD()), unix.F_DUPFD_CLOEXEC, 0)
	return fd, errors.Join(err, page.Close())
}

// close closes the pages that were not given.
func (p *Pages) close() error {
	var errs []error
	for _, page := range p.unused {
		errs = append(errs, page.Close())
	}
	p.unused = nil
	return errors.Join(errs...)
}

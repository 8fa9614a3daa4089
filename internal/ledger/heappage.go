package ledger

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// HeapPage is the page in which a command counts malloc's blocks itself: see bpf/counts.h. It is made before the
// load, because the command gets it when it is started.
type HeapPage struct{ page *ebpf.Map }

// HeapState says what the command has made of its page.
type HeapState uint32

// The states of a page.
const (
	HeapOffered = HeapState(kernelHeapStateHEAP_OFFERED) // it has not begun
	HeapCounted = HeapState(kernelHeapStateHEAP_COUNTED) // it counts
	HeapRefused = HeapState(kernelHeapStateHEAP_REFUSED) // calls of malloc do not reach the C library's
)

// NewHeapPage makes a page. The caller closes it.
func NewHeapPage() (*HeapPage, error) {
	page, err := ebpf.NewMap(&ebpf.MapSpec{Name: "heap_page", Type: ebpf.Array, KeySize: 4,
		ValueSize: uint32(unsafe.Sizeof(kernelCounts{})), MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return nil, classify("make a page in which a command counts", err)
	}
	return &HeapPage{page}, nil
}

// FD returns the page's descriptor, for the command.
func (p *HeapPage) FD() int { return p.page.FD() }

// Offer lets a process count in the page. pid is its number, as it sees itself. It must not run yet.
func (p *HeapPage) Offer(pid int) error {
	const first = uint32(0)
	offer := kernelCounts{Last: uint64(pid)<<pidShift | uint64(HeapOffered)}
	if err := p.page.Put(first, &offer); err != nil {
		return fmt.Errorf("offer a page: %w", err)
	}
	return nil
}

// pidShift is the place of the pid beside the state.
const pidShift = 32

// State returns the state of the page: the process's word.
func (p *HeapPage) State() HeapState {
	const first = uint32(0)
	var now kernelCounts
	if err := p.page.Lookup(first, &now); err != nil {
		return HeapRefused
	}
	return HeapState(now.Last)
}

// Close closes the tracer's descriptor of the page.
func (p *HeapPage) Close() error { return p.page.Close() }

// HeapTold is the cookie of a HeapLeave site in the library with which a process counts malloc's blocks itself: its
// function for large blocks, see bpf/heaptold.h.
const HeapTold uint64 = heapTells << 16

// CountHeap has a process count malloc's blocks itself, in the page of [Options.HeapPage], or tells that it does not
// after all.
func (b *Blocks) CountHeap(pid int, counts bool) error {
	_, err := b.operations.run(kernelOperationOP_HEAP, pid, kernelControl{Page: flag(counts)})
	return err
}

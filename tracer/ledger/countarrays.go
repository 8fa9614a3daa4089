package ledger

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Arrays says by which probes a process's NumPy blocks are counted.
type Arrays uint32

// A process is moved on. What is foreign moves it back.
const (
	ArraysTracked = Arrays(kernelArraysARRAYS_TRACKED) // those on PyTraceMalloc_Track, with which it begins
	// those in NumPy; the others add what these have not seen, as long as they are in place
	ArraysSettling = Arrays(kernelArraysARRAYS_SETTLING)
	ArraysInside   = Arrays(kernelArraysARRAYS_INSIDE) // those in NumPy alone
)

// Foreign says whose blocks pass the probes in NumPy by. Values may be combined.
type Foreign uint32

// Foreign blocks.
const (
	// NumPy was given another memory handler than its own (NEP 49)
	ForeignHandler = Foreign(kernelForeignFOREIGN_HANDLER)
	ForeignModule  = Foreign(kernelForeignFOREIGN_MODULE) // another NumPy was mapped than those of ForeseeModules
)

// MaxModules is how many files ForeseeModules takes.
const MaxModules = len(kernelForesight{}.Files)

// ForeseeModules says which files of NumPy's module have probes for the process in slot, which is ArraysTracked. They
// must stay open for as long as the process is traced. Another one that it maps from now on is foreign; whether it has
// mapped one before is to be looked up behind this.
func (b *Blocks) ForeseeModules(slot uint32, files []File) error {
	f := kernelForesight{Slot: slot}
	for i := range f.Files {
		f.Files[i] = -1
		if i < len(files) {
			f.Files[i] = int32(files[i].Fd())
		}
	}
	if code, err := b.objects.ForeseeModules.Run(&ebpf.RunOptions{Context: &f}); err != nil || code != 0 {
		return fmt.Errorf("foresee NumPy: %w (%d)", err, code)
	}
	return nil
}

// CountArrays says by which probes a process's NumPy blocks are counted from now on; those must be in place. It returns
// by which they are: ArraysTracked where some blocks would pass those in NumPy by, and whose those are.
func (b *Blocks) CountArrays(pid int, by Arrays) (Arrays, Foreign, error) {
	if _, err := b.operations.run(kernelOperationOP_ARRAYS, pid, kernelControl{Group: uint32(by)}); err != nil {
		return by, 0, err
	}
	after, err := b.operations.answer()
	if err != nil {
		return by, 0, err
	}
	return Arrays(after.Group), Foreign(after.Request), nil
}

package ledger

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Arrays is the set of probes that count a process's NumPy blocks.
type Arrays uint32

// A process is moved on. A foreign module moves it back.
const (
	ArraysTracked = Arrays(kernelArraysARRAYS_TRACKED) // those on PyTraceMalloc_Track, with which it begins
	// those in NumPy; the others add the blocks that these have not seen, as long as they are in place
	ArraysSettling = Arrays(kernelArraysARRAYS_SETTLING)
	ArraysInside   = Arrays(kernelArraysARRAYS_INSIDE) // those in NumPy alone
)

// Foreign is the owner of blocks that pass the probes in NumPy by. Values may be combined.
type Foreign uint32

// Foreign blocks.
const (
	// NumPy was given another memory handler than its own (NEP 49)
	ForeignHandler = Foreign(kernelForeignFOREIGN_HANDLER)
	ForeignModule  = Foreign(kernelForeignFOREIGN_MODULE) // another NumPy was mapped than those of ForeseeModules
)

// MaxModules is how many files ForeseeModules takes.
const MaxModules = len(kernelForesight{}.Files)

// ForeseeModules sets the files of NumPy's module that have probes for the process in slot, which is ArraysTracked.
// They must stay open for as long as the process is traced. Another one that it maps from now on is foreign. Whether it
// has mapped one before must be looked up behind this.
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

// CountArrays sets the probes that count a process's NumPy blocks from now on; those must be in place. It returns the
// probes that do count them: ArraysTracked where some blocks would pass those in NumPy by, and the owner of those
// blocks.
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

package ledger

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Arrays names the probes that count the NumPy blocks of a process.
type Arrays uint32

// A process moves from one to the next. A foreign module moves it back.
const (
	ArraysTracked = Arrays(kernelArraysARRAYS_TRACKED) // those on PyTraceMalloc_Track: the initial state
	// those in NumPy; while the others are still in place, they add the blocks that these have not seen
	ArraysSettling = Arrays(kernelArraysARRAYS_SETTLING)
	ArraysInside   = Arrays(kernelArraysARRAYS_INSIDE) // those in NumPy alone
)

// MaxModules is the number of files that ForeseeModules accepts.
const MaxModules = len(kernelForesight{}.Files)

// ForeseeModules sets the files of NumPy's module that have probes for the process in slot, which is ArraysTracked.
// They must stay open for as long as the process is traced. Any other module that the process maps from now on is
// foreign. The caller must look up afterwards whether it mapped one earlier.
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

// CountArrays sets the probes that count the NumPy blocks of a process from now on; they must be in place. It returns
// the probes that actually count them: ArraysTracked if those in NumPy would not see some blocks, with the origin of
// those blocks.
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

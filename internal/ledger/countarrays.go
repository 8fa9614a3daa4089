package ledger

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Arrays names the probes that count the NumPy blocks of a process.
type Arrays uint32

// A process moves from each of these to the next. A foreign module moves it back.
const (
	ArraysTracked = Arrays(kernelArraysARRAYS_TRACKED) // those on PyTraceMalloc_Track: the initial state
	// the probes in NumPy. Those on PyTraceMalloc_Track are still in place, and add the blocks that NumPy's have not
	// seen
	ArraysSettling = Arrays(kernelArraysARRAYS_SETTLING)
	ArraysInside   = Arrays(kernelArraysARRAYS_INSIDE) // those in NumPy alone
)

// MaxModules is the number of files that ForeseeModules accepts.
const MaxModules = len(kernelForesight{}.Files)

// ForeseeModules sets which files of NumPy's module have probes, for the process in slot. The process must be in the
// state ArraysTracked. The files must stay open for as long as the process is traced. Any other module that the process
// maps from now on is foreign. The caller must check afterwards whether the process mapped a foreign module earlier.
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

// CountArrays sets which probes count the NumPy blocks of a process from now on. These probes must be in place. It
// returns the probes that actually count. If the probes in NumPy would miss some blocks, it returns ArraysTracked and
// the origin of these blocks.
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

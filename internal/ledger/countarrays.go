package ledger

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Arrays names the probes that count the NumPy blocks of a process.
type Arrays uint32

// The states of a process, in their order. A foreign module moves the process back to the first.
const (
	// ArraysTracked, the initial state: the probes on PyTraceMalloc_Track count.
	ArraysTracked = Arrays(kernelArraysARRAYS_TRACKED)
	// ArraysSettling: the probes in NumPy count. The probes on PyTraceMalloc_Track are still in place, and add blocks
	// that the others have not seen.
	ArraysSettling = Arrays(kernelArraysARRAYS_SETTLING)
	// ArraysInside: only the probes in NumPy count.
	ArraysInside = Arrays(kernelArraysARRAYS_INSIDE)
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
func (b *Blocks) CountArrays(pid int, probes Arrays) (Arrays, Foreign, error) {
	if _, err := b.operations.run(kernelOperationOP_ARRAYS, pid, kernelControl{Group: uint32(probes)}); err != nil {
		return probes, 0, err
	}
	after, err := b.operations.answer()
	if err != nil {
		return probes, 0, err
	}
	return Arrays(after.Group), Foreign(after.Request), nil
}

package instruments

import (
	"fmt"
	"path"
	"strings"
	"time"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// countingLibrary begins the name of the file of the companion's counting library.
const countingLibrary = "libipytracer_counts-"

// toAsk is how long a companion that counts may take to ask for a page: it does so when a cell begins or ends.
const toAsk = 10 * time.Second

// mapsCounts reports whether the target has loaded the counting library. The name is a hint: a target that uses it
// otherwise only keeps its own meter paused.
func (i *NumPyInstrument) mapsCounts() bool {
	for m, err := range i.Mappings(i.Target.PID) {
		if err != nil {
			return false
		}
		if m.Perm&process.Exec != 0 && strings.HasPrefix(path.Base(m.Path), countingLibrary) {
			return true
		}
	}
	return false
}

// Share calls give, if the target may count small blocks itself beside the probes in NumPy, and notes that it does.
func (i *NumPyInstrument) Share(give func() (fd int, err error)) (fd int, err error) {
	switch {
	case i.Small || i.Refused:
		return -1, fmt.Errorf("%w: all of its arrays pass the probes in the interpreter", ledger.ErrNoPage)
	case i.State != ledger.ArraysInside || i.Stranger:
		return -1, fmt.Errorf("%w yet: its NumPy is not known well enough", ledger.ErrNoPage)
	}
	if fd, err = give(); err != nil {
		i.awaits = time.Time{}
		return -1, err
	}
	i.awaits, i.shares, i.leaving = time.Time{}, true, ""
	i.NoteUse(ledger.GroupNumPy, countsItself(i.Target.PID))
	return fd, nil
}

func countsItself(pid int) string {
	return fmt.Sprintf("none of blocks below 64 KiB in pid %d, which it counts itself", pid)
}

// Share calls give, if the target may count small tensors itself beside the probes in PyTorch, and notes that it does.
func (i *LibraryInstrument) Share(give func() (fd int, err error)) (fd int, err error) {
	mapped := 0
	for _, l := range i.libraries {
		switch {
		case l.kind != cuda.Torch || !l.mapped:
			continue
		case l.refused != nil || !l.sites.Tensors.Present():
			return -1, fmt.Errorf("%w: its PyTorch has no probes", ledger.ErrNoPage)
		}
		mapped++
	}
	if mapped != 1 {
		return -1, fmt.Errorf("%w: the tracer knows %d PyTorches in it", ledger.ErrNoPage, mapped)
	}
	if fd, err = give(); err == nil {
		i.NoteUse(ledger.GroupTorchCPU, countsItself(i.Target.PID))
	}
	return fd, err
}

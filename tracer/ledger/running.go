package ledger

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// firstFound is where the numbers of cells begin that user space has found running; the kernel counts its own from 1.
const firstFound = 1 << 62

// RunningCell is a cell that ran before the probes were there.
type RunningCell struct {
	Coroutine uint64 // address of its run_cell_async
	File      []byte // what its code says it is from, in the characters Python keeps; empty if not known
}

// RunningThread is a thread that runs cells.
type RunningThread struct {
	Slot    uint32
	PID     int
	Self    uint64        // its pthread_self()
	Request bool          // a front end's request is under way, on the main thread
	Cells   []RunningCell // outermost first
	Numbers []uint64      // of the cells, set by [Ledger.OpenRunning]
}

// OpenRunning draws the boundaries at which cells open that run already, and has the probes know them. It is to be called before the
// probes are placed. Cells nested too deep are left out.
func (l *Ledger) OpenRunning(t *RunningThread) error {
	var state kernelThread
	t.Cells = t.Cells[:min(len(t.Cells), len(state.Windows))]
	for i, c := range t.Cells {
		w := &state.Windows[i]
		l.found++
		w.Cell, w.Coroutine = firstFound+l.found, c.Coroutine
		file := make([]byte, len(w.File)*8)
		w.FileSize = uint32(copy(file, c.File))
		for word := range w.File {
			for b := range 8 {
				w.File[word] |= uint64(file[8*word+b]) << (8 * b)
			}
		}
		request := kernelControl{Operation: uint32(kernelOperationOP_CELL), Pid: int32(t.PID), Cell: w.Cell}
		if t.Request {
			request.Request = 1
		}
		if i > 0 {
			request.Outer = t.Numbers[i-1]
		}
		if _, err := l.control(request); err != nil {
			return err
		}
		t.Numbers = append(t.Numbers, w.Cell)
	}
	state.Depth = uint32(len(t.Cells))
	if err := l.objects.Found.Put(kernelThreadKey{Self: t.Self, Slot: t.Slot}, state); err != nil {
		return fmt.Errorf("note a thread that runs cells: %w", err)
	}
	return nil
}

// EndRunning ends cells of which nothing has been heard since they were opened, because they ended before the probes were there. Where
// something has been heard it does nothing: then their end is seen.
func (l *Ledger) EndRunning(t *RunningThread) error {
	err := l.objects.Found.Delete(kernelThreadKey{Self: t.Self, Slot: t.Slot})
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget a thread that ran cells: %w", err)
	}
	for i := len(t.Numbers) - 1; i >= 0; i-- {
		request := kernelControl{Operation: uint32(kernelOperationOP_CELL_END), Pid: int32(t.PID), Cell: t.Numbers[i]}
		if i > 0 {
			request.Outer = t.Numbers[i-1]
		}
		if _, err := l.control(request); err != nil {
			return err
		}
	}
	return nil
}

// MaxNesting is how many cells within each other are followed on one thread.
const MaxNesting = len(kernelThread{}.Windows)

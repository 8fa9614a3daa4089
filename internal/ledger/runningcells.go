package ledger

import (
	"errors"
	"fmt"
	"math"

	"github.com/cilium/ebpf"
)

// firstFound is the first number for cells that user space found running. The kernel half numbers the cells that it
// sees from 1.
const firstFound = 1 << 62

// RunningCell is a cell that began before the probes were in place.
type RunningCell struct {
	Coroutine uint64 // address of its run_cell_async
	File      []byte // the file in its code, in Python's internal characters; empty if not known
}

// RunningThread is a thread that runs cells.
type RunningThread struct {
	Slot    uint32
	PID     int
	Self    uint64        // its pthread_self()
	Request bool          // a front end's request is being processed, on the main thread
	Cells   []RunningCell // outermost first
	Numbers []uint64      // of the cells, set by [Cells.OpenRunning]
}

// Cells has the cells that already ran when the tracer attached to their process, and the numbers of all cells.
type Cells struct {
	objects    *kernelObjects
	operations *operations
	found      uint64 // number of cells that OpenRunning opened
}

// OpenRunning draws the boundaries at which running cells open, and registers the cells for the probes. Call it before
// placing the probes. Cells that are nested too deeply are left out.
func (c *Cells) OpenRunning(t *RunningThread) error {
	var state kernelThread
	t.Cells = t.Cells[:min(len(t.Cells), len(state.Windows))]
	for i, cell := range t.Cells {
		w := &state.Windows[i]
		c.found++
		w.Cell, w.Coroutine = firstFound+c.found, cell.Coroutine
		file := make([]byte, len(w.File)*8)
		w.FileSize = uint32(copy(file, cell.File))
		for word := range w.File {
			for b := range 8 {
				w.File[word] |= uint64(file[8*word+b]) << (8 * b)
			}
		}
		request := kernelControl{Cell: w.Cell}
		if t.Request {
			request.Request = 1
		}
		if i > 0 {
			request.Outer = t.Numbers[i-1]
		}
		if _, err := c.operations.run(kernelOperationOP_CELL, t.PID, request); err != nil {
			return err
		}
		t.Numbers = append(t.Numbers, w.Cell)
	}
	state.Depth = uint32(len(t.Cells))
	if err := c.objects.Found.Put(kernelThreadKey{Self: t.Self, Slot: t.Slot}, state); err != nil {
		return fmt.Errorf("note a thread that runs cells: %w", err)
	}
	return nil
}

// EndRunning ends the cells of a thread that had no record since they were opened: they ended before the probes were in
// place. It leaves a thread with a record alone: the probes see the end of its cells.
func (c *Cells) EndRunning(t *RunningThread) error {
	err := c.objects.Found.Delete(kernelThreadKey{Self: t.Self, Slot: t.Slot})
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forget a thread that ran cells: %w", err)
	}
	for i := len(t.Numbers) - 1; i >= 0; i-- {
		request := kernelControl{Cell: t.Numbers[i]}
		if i > 0 {
			request.Outer = t.Numbers[i-1]
		}
		if _, err := c.operations.run(kernelOperationOP_CELL_END, t.PID, request); err != nil {
			return err
		}
	}
	return nil
}

// CellsOpened returns the number of the newest cell that any process has opened, whether it has been delivered or not.
func (c *Cells) CellsOpened() uint64 {
	var next uint64
	if err := c.objects.NextCell.Get(&next); err != nil || next == 0 {
		return math.MaxUint64
	}
	return next - 1
}

// MaxNesting is the number of nested cells that are followed on one thread.
const MaxNesting = len(kernelThread{}.Windows)

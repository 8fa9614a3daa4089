package tracee

import (
	"io"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

// KernelHalf has the parts of [ledger.Ledger] that a session uses, as interfaces: tests have parts with preset answers.
// The types of package ledger document the methods.
type KernelHalf struct {
	Stream
	Processes
	CellNumbers
	Prober
	Accounts
	ArrayTable
	CodeTable
	Object
}

// KernelHalfOf returns the parts of a ledger.
func KernelHalfOf(l *ledger.Ledger) *KernelHalf {
	return &KernelHalf{&l.Stream, &l.Processes, &l.Cells, &l.Probes, &l.Accounts, &l.Blocks, &l.Rules, l}
}

// IsLoaded reports whether there is a kernel half.
func (k *KernelHalf) IsLoaded() bool { return k.Object != nil }

// Stream is the records that come out of the kernel.
type Stream interface {
	// Poll passes the available records to sink, and waits for more until the deadline; Wake ends such a wait, from any
	// goroutine.
	Poll(deadline time.Time, sink ledger.Sink) error
	// Drain passes on all records, including those still being written: the end.
	Drain(sink ledger.Sink) error
	Wake() error
	Rest() error
	Delivered() uint64
	Received() uint64
}

// Processes are the traced processes, and the data about them that the kernel needs.
type Processes interface {
	AttachProcess(root uint32, pid int, started uint64) (slot uint32, err error)
	Adopt(root uint32, pid int, started uint64, parent int) (slot uint32, err error)
	Slot(pid int) (uint32, error)
	Detach(pid int) error
	Leave(root uint32) error
	Release(root uint32) (done bool, err error)
	Look(pid int) error
	SetPython(slot uint32, python ledger.Python) error
	ForgetStacks() error
	SetDevices(slot uint32, d ledger.Devices) error
}

// CellNumbers are the cells that ran before the probes were in place, and how many were opened in all.
type CellNumbers interface {
	OpenRunning(t *ledger.RunningThread) error
	EndRunning(t *ledger.RunningThread) error
	CellsOpened() uint64
}

// Prober puts probes on files.
type Prober interface {
	// Probe puts probes on a file, for one process, or for all with a pid of 0.
	Probe(file ledger.File, pid int, placements []ledger.Placement) (io.Closer, error)
	TryProbe() error
}

// Accounts are the costs of probes and their limits, the number of hits, and the groups that are paused.
type Accounts interface {
	Calibrate() (ledger.Costs, error)
	SetBudget(share float64, full time.Duration) error
	SetPrice(g ledger.Group, price ledger.Costs, discount uint) error
	Account(root uint32) (ledger.Account, error)
	Back(g ledger.Group, pid int) error
	Late(g ledger.Group, pid int) error
	Hits() [ledger.GroupCount]uint64
}

// ArrayTable is NumPy's blocks, and who counts malloc's.
type ArrayTable interface {
	ForeseeModules(slot uint32, files []ledger.File) error
	CountArrays(pid int, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error)
	Arrays(slot uint32) ([]ledger.Array, ledger.ArrayMeters, error)
	SettleArray(slot uint32, address, known, found uint64) (done bool, err error)
	Settled(pid int, unsure int64) error
	GivePage(pid int, blocks ledger.Counted) (fd int, err error)
	CountHeap(pid int, counts bool) error
}

// CodeTable is the rules for unwinding stacks of machine code.
type CodeTable interface {
	CodeChanges(slot uint32) (uint32, error)
	CodeChecked(slot, changes uint32) error
	CodeForgotten(slot uint32) error
	SetRule(slot uint32, pc uint64, leaf bool, r ledger.Rule) error
	DropRule(slot uint32, pc uint64, leaf bool) error
}

// Object is everything that was loaded: its capabilities, its memory, its losses.
type Object interface {
	Capabilities() ledger.Capabilities
	Memory() int64
	Losses() []event.Loss
	Close() error
}

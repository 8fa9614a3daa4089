package tracer

import (
	"io"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/ledger"
)

// kernelHalf is what a session uses of the ledger in the kernel, whose types say what each of it does. It is [ledger.Ledger]; tests have one that hands
// out what they say.
type kernelHalf interface {
	stream
	processes
	accounts
	arrayTable
	codeTable
}

// stream is the records that come out of the kernel, and their totals.
type stream interface {
	// Poll hands what there is to sink, and waits for something until the deadline; Wake makes one that waits return, from any goroutine.
	Poll(deadline time.Time, sink ledger.Sink) error
	// Drain hands on what there is, with what is still being written: the end.
	Drain(sink ledger.Sink) error
	Wake() error
	Rest() error
	Delivered() uint64
	Hits() [ledger.GroupCount]uint64
	Losses() []event.Loss
	Capabilities() ledger.Capabilities
	CellsOpened() uint64
	Memory() int64
	Close() error
}

// processes are what is traced, what the kernel is told of it, and the probes in it.
type processes interface {
	AttachProcess(root uint32, pid int, started uint64) (slot uint32, err error)
	Adopt(root uint32, pid int, started uint64, parent int) (slot uint32, err error)
	Slot(pid int) (uint32, error)
	Detach(pid int) error
	Look(pid int) error
	SetPython(slot uint32, python ledger.Python) error
	SetDevices(slot uint32, d ledger.Devices) error
	OpenRunning(t *ledger.RunningThread) error
	EndRunning(t *ledger.RunningThread) error
	// Probe puts probes on a file, for one process, or for all with a pid of 0.
	Probe(file ledger.File, pid int, placements []ledger.Placement) (io.Closer, error)
	TryProbe() error
}

// accounts are what probes cost and may cost, and the groups that are stepped down.
type accounts interface {
	Calibrate() (ledger.Costs, error)
	SetBudget(share float64, full time.Duration) error
	SetPrice(g ledger.Group, price ledger.Costs, discount uint) error
	Account(root uint32) (ledger.Account, error)
	Back(g ledger.Group, pid int) error
	Late(g ledger.Group, pid int) error
}

// arrayTable is NumPy's blocks.
type arrayTable interface {
	ForeseeModules(slot uint32, files []ledger.File) error
	CountArrays(pid int, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error)
	Arrays(slot uint32) ([]ledger.Array, ledger.ArrayMeters, error)
	SettleArray(slot uint32, address, known, found uint64) (done bool, err error)
	Settled(pid int, unsure int64) error
}

// codeTable is how to go up the stacks of machine code.
type codeTable interface {
	CodeChanges(slot uint32) (uint32, error)
	CodeChecked(slot, changes uint32) error
	CodeForgotten(slot uint32) error
	SetRule(slot uint32, pc uint64, leaf bool, r ledger.Rule) error
	DropRule(slot uint32, pc uint64, leaf bool) error
}

var _ kernelHalf = (*ledger.Ledger)(nil)

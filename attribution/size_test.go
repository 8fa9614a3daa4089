package attribution_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/text"
	"ipytracer/report"
)

// Limits of a notebook of 60 cells.
const (
	mostJSON = 5 << 20
	mostHeap = 48 << 20 // reachable memory; Go's garbage may be as much again
)

// notebook makes the events of a notebook with many calls: cells of statements, each of which allocates blocks by many
// stacks of calls, frees most of them, and leaves some.
type notebook struct {
	*attribution.Tracker
	attributiontest.Ledger
	random          *rand.Rand
	address, stacks uint64
	held            []event.Change
}

const (
	notebookPID = 4242
	deep        = 30
)

// newStack announces a stack: half of its calls are the library's, which many stacks have in common.
func (n *notebook) newStack(file string, line int) uint64 {
	n.stacks++
	frames := make([]event.Frame, deep)
	for i := range frames {
		frames[i] = event.Frame{Function: fmt.Sprintf("BaseEstimator.method_%d", n.random.IntN(8)),
			File: fmt.Sprintf("/usr/lib/python3/dist-packages/sklearn/module_%d.py", i), Line: int32(n.random.IntN(6))}
	}
	frames[deep-1] = event.Frame{Function: "<module>", File: file, Line: int32(line)}
	n.Add(&event.Stack{Number: n.stacks, PID: notebookPID, Frames: frames})
	return n.stacks
}

// run runs a notebook. Some of the stacks of each statement are new, some those of earlier ones.
func (n *notebook) run(cells, statements, blocks int) {
	n.Add(&event.Start{Host: event.Host{Name: "h", CPUs: 2},
		Processes: []event.ProcessInfo{{PID: notebookPID, Root: 0, Command: "python3 -m ipykernel", Python: "3.11.2",
			IPython: "8.5.0"}},
		Meters: []event.MeterSource{{Meter: event.Mapped, Exact: true}, {Meter: event.Resident, Exact: true},
			{Meter: event.NumPy, Exact: true}}})
	n.Boundary(event.Boundary{Kind: event.Attached})
	for cell := range cells {
		file := fmt.Sprintf("/tmp/ipykernel_%d/%d.py", notebookPID, 1000+cell)
		id := uint64(cell + 1)
		n.Boundary(event.Boundary{Kind: event.CellOpen, Cell: id, Inputs: int64(cell + 2), File: file})
		n.Add(&event.CellSource{Cell: id, PID: notebookPID, Text: "fit(X, y)\n"})
		for line := range statements {
			n.Boundary(event.Boundary{Kind: event.StatementOpen, Cell: id, Line: int32(line + 1)})
			var mine []uint64
			for range 10 {
				mine = append(mine, n.newStack(file, line+1))
			}
			n.statement(mine, blocks)
			n.Boundary(event.Boundary{Kind: event.StatementClose, Cell: id, Outcome: event.OutcomeOK})
		}
		n.Boundary(event.Boundary{Kind: event.CellClose, Cell: id, Outcome: event.OutcomeOK})
	}
	n.Boundary(event.Boundary{Kind: event.Detached})
	n.Add(&event.Finish{Time: n.Now, Reason: "interrupted", Made: n.Ledger.Stream, Delivered: n.Ledger.Stream})
}

func (n *notebook) statement(stacks []uint64, blocks int) {
	first := len(n.held)
	for i := range blocks {
		n.address += 1 << 22
		m := []event.Meter{event.NumPy, event.NumPy, event.Mapped}[i%3]
		c := event.Change{Meter: m, Size: event.Bytes(4096 << n.random.IntN(12)), Address: n.address,
			Stack: stacks[n.random.IntN(len(stacks))], Block: true}
		n.Change(c)
		n.held = append(n.held, c)
	}
	for len(n.held) > first+blocks/20 { // one in twenty stays
		at := first + n.random.IntN(len(n.held)-first)
		c := n.held[at]
		n.held[at] = n.held[len(n.held)-1]
		n.held = n.held[:len(n.held)-1]
		c.Size = -c.Size
		n.Change(c)
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// reachable returns the size of the heap after a collection.
func reachable() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpuTime returns the CPU time of the process: other work on the machine does not count.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestNotebookIsSmall checks the output and the memory of a notebook of 60 cells and 6,000 stacks against limits; it
// logs the time of its printing. On two CPUs it took 4.6 MB of JSON, 22 MiB of reachable memory and 0.3 s of CPU time.
func TestNotebookIsSmall(t *testing.T) {
	before := reachable()
	n := &notebook{Tracker: attribution.New(), random: rand.New(rand.NewPCG(1, 2))}
	n.Ledger = attributiontest.Ledger{Emit: n.Add, PID: notebookPID, Boundaries: 1e6}
	n.run(60, 10, 300)
	kept := reachable() - before
	began := cpuTime()
	r := n.Tracker.Stream()
	streamed := reachable() - before
	var size counter
	if err := report.JSON(&size, r); err != nil {
		t.Fatal(err)
	}
	if err := text.Report(io.Discard, r, text.Options{}); err != nil {
		t.Fatal(err)
	}
	took := cpuTime() - began
	t.Logf("%d changes, %d stacks: %d bytes of JSON, %d bytes of heap, %d with the report; printed in %s",
		n.Ledger.Stream, n.stacks, size, kept, streamed, took)
	if size > mostJSON {
		t.Errorf("JSON takes %d bytes, more than %d", size, mostJSON)
	}
	if max(kept, streamed) > mostHeap {
		t.Errorf("the tracker keeps %d bytes, more than %d", max(kept, streamed), mostHeap)
	}
}

package main

import (
	"fmt"
	"math/rand/v2"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

const (
	pid    = 4242
	texts  = 40   // different texts of cells
	lines  = 12   // lines of a cell, all of which allocate
	perRun = 4000 // changes in one run of a cell
)

// busy emits about as many events as asked for, like those of a busy notebook: cells run again and again, and their
// lines allocate blocks of NumPy and PyTorch, most of which they free.
func busy(emit func(event.Event), events int) {
	n := notebook{emit: emit, random: rand.New(rand.NewPCG(1, 2)), torch: event.OfDevice(0, event.Active)}
	n.Ledger = attributiontest.Ledger{Emit: n.write, PID: pid, Boundaries: 50_000, Changes: 1_000}
	n.write(&event.Start{
		Host: event.Host{Name: "bench", CPUs: 2, Memory: 16 << 30},
		Processes: []event.ProcessInfo{
			{PID: pid, Command: "ipykernel", Python: "3.11.2", IPython: "8.5.0", Frontend: "ipykernel"},
		},
		Meters: []event.MeterSource{
			{Meter: event.NumPy, Source: "made up", Exact: true},
			{Meter: event.Mapped, Source: "made up", Exact: true},
		},
	})
	n.Boundary(event.Boundary{Kind: event.Attached})
	n.stacks()
	for n.written < events {
		n.cell()
	}
	n.Boundary(event.Boundary{Kind: event.Detached})
	n.write(&event.Finish{Time: n.Now, Reason: "interrupted", Made: n.Stream, Delivered: n.Stream})
}

// notebook is the state of the made-up session.
type notebook struct {
	attributiontest.Ledger
	emit    func(event.Event)
	random  *rand.Rand
	torch   event.Meter
	written int
	cells   int64
	address uint64
	held    []event.Change // the allocations of the blocks that were not freed
}

// write emits an event and counts it.
func (n *notebook) write(e event.Event) {
	n.emit(e)
	n.written++
}

// file returns the name of a cell's code.
func file(text int) string { return fmt.Sprintf("/tmp/ipykernel_%d/%d.py", pid, 1000+text) }

// stacks announces the stacks of the allocations: stack text*lines+line+1.
func (n *notebook) stacks() {
	for text := range texts {
		for line := range lines {
			zeros := "/usr/lib/python3/dist-packages/numpy/core/numeric.py"
			frames := []event.Frame{{Function: "zeros", File: zeros, Line: 100}}
			for depth := range 1 + line%9 {
				step := fmt.Sprintf("step%d", depth)
				frames = append(frames,
					event.Frame{Function: step, File: "/home/me/project/train.py", Line: int32(10 * depth)})
			}
			frames = append(frames, event.Frame{Function: "<module>", File: file(text), Line: int32(line + 1)})
			n.write(&event.Stack{Number: uint64(text*lines + line + 1), PID: pid, Frames: frames})
		}
	}
}

// cell emits one run of a cell. Each of its lines is a statement.
func (n *notebook) cell() {
	n.cells++
	text := n.random.IntN(texts)
	id := uint64(n.cells)
	n.Boundary(event.Boundary{Kind: event.CellOpen, Cell: id, Inputs: n.cells + 1, File: file(text)})
	n.write(&event.CellSource{Cell: id, PID: pid, Text: fmt.Sprintf("# cell %d\n%s", text, "work()\n")})
	for line := range lines {
		n.Boundary(event.Boundary{Kind: event.StatementOpen, Cell: id, Line: int32(line + 1)})
		n.statement(uint64(text*lines + line + 1))
		n.Boundary(event.Boundary{Kind: event.StatementClose, Cell: id, Outcome: event.OutcomeOK})
	}
	n.Boundary(event.Boundary{Kind: event.CellClose, Cell: id, Outcome: event.OutcomeOK})
}

// statement emits the allocations of a statement, and frees all but at most a few of its blocks.
func (n *notebook) statement(stack uint64) {
	first := len(n.held)
	for range perRun / lines / 2 {
		m := event.NumPy
		if n.random.IntN(4) == 0 {
			m = n.torch
		}
		n.address += 1 << 22
		size := event.Bytes(512 << n.random.IntN(12))
		c := event.Change{Meter: m, Size: size, Address: n.address, Stack: stack, Block: m == n.torch}
		n.Change(c)
		n.held = append(n.held, c)
	}
	for len(n.held) > first+n.random.IntN(2) { // a statement keeps one block or none
		at := first + n.random.IntN(len(n.held)-first)
		c := n.held[at]
		n.held[at] = n.held[len(n.held)-1]
		n.held = n.held[:len(n.held)-1]
		c.Size = -c.Size
		n.Change(c)
	}
}

package attribution

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ipytracer/report"
	"ipytracer/report/reporttest"
	"ipytracer/tracer/event"
)

const mib = event.Bytes(1 << 20)

// notebook writes the events of cells that make and free blocks.
type notebook struct {
	*script
	cells uint64
	next  uint64
	sizes map[uint64]event.Change
	has   map[event.Meter]event.Bytes
}

func newNotebook() *notebook {
	return &notebook{script: newScript(), next: 1 << 40, sizes: map[uint64]event.Change{}, has: map[event.Meter]event.Bytes{}}
}

func (n *notebook) move(c event.Change) {
	n.stream++
	n.has[c.Meter] += c.Size
	c.Stream, c.Segment, c.PID, c.TID, c.Time, c.Value = n.stream, n.number+1, main, main, n.time, n.has[c.Meter]
	n.held = append(n.held, &c)
}

// take makes a block of NumPy's at a line of the cell that runs, through a helper of its own.
func (n *notebook) take(text string, line int, size event.Bytes) uint64 {
	return n.takeOf(event.NumPy, text, line, size)
}

func (n *notebook) takeOf(m event.Meter, text string, line int, size event.Bytes) uint64 {
	n.next += 1 << 32
	number := n.next
	frames := []event.Frame{{Function: "helper", File: "/home/me/lib.py", Line: 7}, {Function: "<module>", File: text + ".py", Line: int32(line)}}
	n.events = append(n.events, &event.Stack{Number: number, PID: main, Frames: frames})
	c := event.Change{Meter: m, Size: size, Address: n.next, Stack: number, Block: isActive(m)}
	n.sizes[n.next] = c
	n.move(c)
	return n.next
}

func (n *notebook) give(addresses ...uint64) {
	for _, a := range addresses {
		c := n.sizes[a]
		delete(n.sizes, a)
		c.Size, c.Stack = -c.Size, 0
		n.move(c)
	}
}

// collect has the garbage collector free them.
func (n *notebook) collect(addresses ...uint64) {
	first := len(n.held)
	n.give(addresses...)
	for _, e := range n.held[first:] {
		e.Collected = true
	}
}

// failsIn lets a cell run whose first statements end, and whose last fails.
func (n *notebook) failsIn(statements int, text string, first func()) {
	n.ends(text, event.OutcomeError, func() {
		for line := 2; line <= statements; line++ {
			first()
			n.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = n.cells, event.OutcomeOK })
			n.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = n.cells, int32(line) })
		}
	})
}

// run lets a cell run; its text is also the name of its code.
func (n *notebook) run(text string, body func()) { n.ends(text, event.OutcomeOK, body) }

func (n *notebook) ends(text string, outcome event.Outcome, body func()) {
	n.cells++
	n.inputs++
	cell := n.cells
	n.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.Text = cell, n.inputs, text+".py" })
	n.events = append(n.events, &event.CellSource{Cell: cell, PID: main, Text: text})
	n.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = cell, 1 })
	body()
	n.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, outcome })
	n.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, outcome })
}

// wait lets seconds go by.
func (n *notebook) wait(seconds int) { n.time += event.Nanoseconds(seconds) * 1e9 }

// hold says who holds blocks in the end.
func (n *notebook) hold(holders ...event.Holder) {
	n.events = append(n.events, &event.Holders{PID: main, Complete: true, Objects: 1000, Holders: holders})
}

func (n *notebook) audit(t *testing.T) *report.Audit {
	t.Helper()
	n.boundary(event.Detached, main)
	return n.finish(t)
}

func (n *notebook) finish(t *testing.T) *report.Audit {
	t.Helper()
	a := NewAuditor()
	for _, e := range append(n.events, &event.Finish{Reason: "interrupted"}) {
		a.Add(e)
	}
	out := a.Audit(int64(mib))
	reporttest.Audit(t, out)
	return out
}

// only is the one verdict of an audit.
func only(t *testing.T, a *report.Audit, kind string, size event.Bytes, cells ...int) report.Verdict {
	t.Helper()
	if len(a.Verdicts) != 1 {
		t.Fatalf("%d verdicts, want one: %+v", len(a.Verdicts), a.Verdicts)
	}
	v := a.Verdicts[0]
	if v.Kind != kind || v.Bytes != int64(size) || !slices.Equal(v.Executions, cells) {
		t.Errorf("%s of %d bytes from cells %v, want %s of %d from %v", v.Kind, v.Bytes, v.Executions, kind, size, cells)
	}
	if v.Evidence == "" || v.Advice == "" {
		t.Errorf("no evidence or advice: %+v", v)
	}
	return v
}

func none(t *testing.T, a *report.Audit) {
	t.Helper()
	if len(a.Verdicts) > 0 {
		t.Errorf("verdicts on a healthy notebook: %+v", a.Verdicts)
	}
}

// A cell that leaves something behind in each run grows, whoever holds it; the line is that of the block.
func TestRerunGrowth(t *testing.T) {
	n := newNotebook()
	for range 4 {
		n.run("leaky", func() {
			n.take("leaky", 2, 3*mib)
			n.give(n.take("leaky", 3, 50*mib))
		})
		n.run("other", func() {})
	}
	v := only(t, n.audit(t), report.RerunGrowth, 12*mib, 1, 3, 5, 7)
	if v.Growth == nil || *v.Growth != (report.Growth{Runs: 4, Slope: int64(3 * mib), Low: int64(3 * mib), High: int64(3 * mib)}) {
		t.Errorf("growth %+v", v.Growth)
	}
	if len(v.Stack) != 2 || v.Stack[1].Line != 2 || v.Stack[1].Execution != 7 || v.Stack[0].Function != "helper" {
		t.Errorf("stack %+v", v.Stack)
	}
}

// What is kept for a while, and bounded, is not growth; neither is what the next run replaces.
func TestBoundedIsNoGrowth(t *testing.T) {
	for _, keeps := range []int{1, 2, 4} {
		n := newNotebook()
		var kept []uint64
		for range 7 {
			n.run("bounded", func() {
				kept = append(kept, n.take("bounded", 1, 4*mib))
				if len(kept) > keeps {
					n.give(kept[0])
					kept = kept[1:]
				}
			})
		}
		none(t, n.audit(t))
	}
	n := newNotebook() // freed in the end
	var all []uint64
	for range 5 {
		n.run("collect", func() { all = append(all, n.take("collect", 1, 4*mib)) })
	}
	n.run("clear", func() { n.give(all...) })
	none(t, n.audit(t))
}

// Mapped memory that a few runs took and kept, ever less of it, is what allocators do; the same in each of four runs is growth.
func TestMappedGrowth(t *testing.T) {
	for _, c := range []struct {
		sizes []event.Bytes
		grows bool
	}{{[]event.Bytes{14, 10, 3}, false}, {[]event.Bytes{7, 7, 7}, false}, {[]event.Bytes{90, 8, 2, 1}, false}, {[]event.Bytes{7, 1, 5, 2, 4}, false}, {[]event.Bytes{7, 7, 7, 7}, true}, {[]event.Bytes{8, 7, 6, 7, 8}, true}} {
		n := newNotebook()
		sum := event.Bytes(0)
		for _, size := range c.sizes {
			n.run("maps", func() {
				n.next += 1 << 32
				n.move(event.Change{Meter: event.Mapped, Size: size * mib, Address: n.next, Block: true})
			})
			sum += size * mib
		}
		if a := n.audit(t); !c.grows {
			none(t, a)
		} else if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != report.RerunGrowth || a.Verdicts[0].Bytes != int64(sum) {
			t.Errorf("%v: %+v", c.sizes, a.Verdicts)
		}
	}
}

// A cell that makes the same anew in each run does not grow, though an allocator spreads what the last run made over memory that each of
// them mapped. The numbers are arenas, of each run, behind each run; the first ones are of a real cell that makes 300,000 strings.
func TestMappedGrowthInArenas(t *testing.T) {
	for name, c := range map[string]struct {
		after [][]int
		grows bool
	}{
		"as many behind each run":   {[][]int{{14}, {5, 9}, {4, 4, 6}, {3, 3, 3, 5}, {2, 3, 3, 3, 3}}, false},
		"now more and now less":     {[][]int{{14}, {5, 8}, {4, 4, 7}, {3, 3, 3, 4}, {2, 3, 3, 3, 3}}, false},
		"the first run found room":  {[][]int{{4}, {4, 10}, {3, 5, 6}, {3, 3, 3, 5}, {2, 3, 3, 3, 3}}, false},
		"four runs":                 {[][]int{{14}, {7, 7}, {5, 5, 4}, {3, 4, 3, 4}}, false},
		"up to a bound":             {[][]int{{4}, {4, 4}, {4, 4, 4}, {3, 3, 3, 3}, {3, 3, 2, 2, 2}, {2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 1, 1}}, false},
		"more behind each run":      {[][]int{{5}, {5, 5}, {5, 5, 5}, {5, 5, 5, 5}}, true},
		"more, and some given back": {[][]int{{14}, {6, 13}, {6, 6, 12}, {6, 6, 5, 13}, {6, 6, 5, 6, 7}}, true},
	} {
		for _, elsewhere := range []bool{false, true} { // it is the next run that gives back, or another cell before it
			n := newNotebook()
			number, arenas := uint64(1<<60), make([][]event.Change, len(c.after))
			n.events = append(n.events, &event.Stack{Number: number, PID: main, Frames: []event.Frame{{Function: "<module>", File: "maps.py", Line: 2}}})
			giveBack := func(after []int) {
				for run, kept := range after {
					for ; len(arenas[run]) > kept; arenas[run] = arenas[run][1:] {
						gone := arenas[run][0]
						gone.Size, gone.Stack = -gone.Size, 0
						n.move(gone)
					}
				}
			}
			for run, after := range c.after {
				if elsewhere {
					n.run("clears", func() { giveBack(after) })
				}
				n.run("maps", func() {
					giveBack(after)
					for len(arenas[run]) < after[run] {
						n.next += 1 << 32
						a := event.Change{Meter: event.Mapped, Size: mib, Address: n.next, Block: true, Stack: number}
						arenas[run] = append(arenas[run], a)
						n.move(a)
					}
				})
			}
			a := n.audit(t)
			if grows := len(a.Verdicts) == 1 && a.Verdicts[0].Kind == report.RerunGrowth; grows != c.grows || !grows && len(a.Verdicts) > 0 {
				t.Errorf("%s, elsewhere %v: %+v", name, elsewhere, a.Verdicts)
			}
		}
	}
}

// A leak that not every run makes is found with enough of them.
func TestGrowthNowAndThen(t *testing.T) {
	n := newNotebook()
	left := event.Bytes(0)
	for i := range 40 {
		n.run("sometimes", func() {
			if i%3 != 1 {
				n.take("sometimes", 1, mib)
				left += mib
			}
		})
	}
	a := n.audit(t)
	if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != report.RerunGrowth || a.Verdicts[0].Bytes != int64(left) {
		t.Errorf("%+v", a.Verdicts)
	}
}

// Who holds a block decides what is said of it.
func TestHolders(t *testing.T) {
	for _, c := range []struct {
		kind event.HolderKind
		path string
		want string
		says string
	}{
		{event.HeldByVariable, "x", "", ""},
		{event.HeldByOutput, "Out[1]", report.HeldByOutput, "Out[1]"},
		{event.HeldByTraceback, "local 'batch' of step", report.HeldByTraceback, "local 'batch' of step"},
		{event.HeldByModule, "lib._cache['k']", report.HeldAfterWindow, "lib._cache['k']"},
		{event.HeldByThread, "local 'a' of work", report.HeldAfterWindow, "local 'a' of work"},
		{event.HeldByCycle, "", report.HeldAfterWindow, "garbage collector"},
		{event.HeldByNone, "", report.HeldAfterWindow, "no Python object"},
	} {
		for _, meter := range []event.Meter{event.NumPy, event.Torch} {
			n := newNotebook()
			n.run("cell", func() {
				address := n.takeOf(meter, "cell", 1, 8*mib)
				defer n.hold(event.Holder{Address: address, Kind: c.kind, Path: c.path, Type: "numpy.ndarray", References: 1})
			})
			a := n.audit(t)
			if c.want == "" {
				none(t, a)
			} else if v := only(t, a, c.want, 8*mib, 1); !strings.Contains(v.Evidence, c.says) {
				t.Errorf("%s: %q does not say %q", c.want, v.Evidence, c.says)
			}
			if len(a.Held) != 1 || a.Held[0].By != string(c.kind) || a.Held[0].Bytes != int64(8*mib) || a.Held[0].Meter != meter.String() || !a.Complete {
				t.Errorf("held %+v, complete %v", a.Held, a.Complete)
			}
		}
	}
}

// A holder that is not certain is said to be so.
func TestProbably(t *testing.T) {
	n := newNotebook()
	n.run("cell", func() {
		address := n.take("cell", 1, 8*mib)
		defer n.hold(event.Holder{Address: address, Kind: event.HeldByModule, Path: "lib.cache.<odd>", Probable: true})
	})
	if v := only(t, n.audit(t), report.HeldAfterWindow, 8*mib, 1); !v.Probable || !strings.Contains(v.Evidence, "probably") {
		t.Errorf("%+v", v)
	}
}

// What no object has is only said to leak if every object was looked at, and not of memory that libraries keep.
func TestNobodyHoldsIt(t *testing.T) {
	n := newNotebook()
	n.run("cell", func() {
		address := n.take("cell", 1, 8*mib)
		defer func() {
			n.events = append(n.events, &event.Holders{PID: main, Holders: []event.Holder{{Address: address, Kind: event.HeldByNone}}})
		}()
	})
	a := n.audit(t)
	none(t, a)
	if a.Complete {
		t.Error("not every object was looked at, and the audit is complete")
	}
	n = newNotebook() // cuBLAS's workspace, on two GPUs of which one is a Hopper
	n.run("cell", func() {
		first := n.takeOf(event.OfDevice(0, event.Active), "cell", 1, 4096*2<<10+16*8<<10)
		second := n.takeOf(event.OfDevice(1, event.Active), "cell", 1, 32<<20)
		defer n.hold(event.Holder{Address: first, Kind: event.HeldByNone}, event.Holder{Address: second, Kind: event.HeldByNone})
	})
	none(t, n.audit(t))
}

// Without its objects a failed statement still tells: what it made has no name.
func TestTraceback(t *testing.T) {
	n := newNotebook()
	n.run("fine", func() { n.take("fine", 1, 8*mib) })
	n.ends("fails", event.OutcomeError, func() { n.take("fails", 4, 5*mib) })
	only(t, n.audit(t), report.HeldByTraceback, 5*mib, 2)

	n = newNotebook() // the next exception frees it
	var address uint64
	n.ends("fails", event.OutcomeError, func() { address = n.take("fails", 4, 5*mib) })
	n.wait(3)
	n.ends("again", event.OutcomeError, func() { n.give(address) })
	if v := only(t, n.audit(t), report.HeldByTraceback, 5*mib, 1); !strings.Contains(v.Evidence, "until In[2] failed") {
		t.Errorf("evidence %q", v.Evidence)
	}
}

// What an exception's frames have goes some time after the next exception has come: they refer to it, so it takes the garbage
// collector, which runs in any cell, or in none. A variable's goes when a cell says so.
func TestTracebackGoesLater(t *testing.T) {
	nothing := func() {}
	for name, c := range map[string]struct {
		between bool // a cell fails between the one that made it and what frees it
		frees   func(n *notebook, give func(), collect func())
		held    bool
	}{
		"collected between cells":          {true, func(_ *notebook, _, collect func()) { collect() }, true},
		"collected in a cell":              {true, func(n *notebook, _, collect func()) { n.run("fine", collect) }, true},
		"collected in a later failed one":  {true, func(n *notebook, _, collect func()) { n.ends("again", event.OutcomeError, collect) }, true},
		"collected after other cells":      {true, func(n *notebook, _, collect func()) { n.run("fine", nothing); n.wait(9); n.run("more", collect) }, true},
		"freed right after the failed one": {true, func(_ *notebook, give, _ func()) { give() }, true},
		"freed by a cell":                  {true, func(n *notebook, give, _ func()) { n.run("fine", give) }, false},
		"freed by a statement of a cell that fails later": {true, func(n *notebook, give, _ func()) {
			n.failsIn(2, "twice", give)
		}, false},
		"collected with no other exception":        {false, func(n *notebook, _, collect func()) { n.run("fine", collect) }, false},
		"collected between, no other exception":    {false, func(_ *notebook, _, collect func()) { collect() }, false},
		"collected in a cell before it has failed": {false, func(n *notebook, _, collect func()) { n.failsIn(2, "twice", collect) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNotebook()
			var address uint64
			n.ends("fails", event.OutcomeError, func() { address = n.take("fails", 4, 5*mib) })
			if n.run("fine", nothing); c.between {
				n.ends("next", event.OutcomeError, nothing)
			}
			c.frees(n, func() { n.give(address) }, func() { n.collect(address) })
			n.run("last", nothing)
			if !c.held {
				none(t, n.audit(t))
				return
			}
			if v := only(t, n.audit(t), report.HeldByTraceback, 5*mib, 1); !strings.Contains(v.Evidence, "until In[3] failed") {
				t.Errorf("evidence %q", v.Evidence)
			}
		})
	}
}

// What an interpreter that ends clears away was not held by a traceback.
func TestTracebackOfAProcessThatEnds(t *testing.T) {
	n := newNotebook()
	var address uint64
	n.ends("fails", event.OutcomeError, func() { address = n.take("fails", 4, 5*mib) })
	n.ends("next", event.OutcomeError, func() {})
	n.collect(address)
	n.boundary(event.ProcessExit, main)
	for _, v := range n.finish(t).Verdicts {
		if strings.Contains(v.Evidence, "until") {
			t.Errorf("%+v", v)
		}
	}
}

// What goes long after its cell, when no cell runs, was freed late; what goes as the process ends was not.
func TestFreedLate(t *testing.T) {
	n := newNotebook()
	var soon, late uint64
	n.run("cell", func() { soon, late = n.take("cell", 1, 7*mib), n.take("cell", 2, 9*mib) })
	n.give(soon)
	n.wait(5)
	n.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Text = event.TorchTotals }) // any boundary: time goes on
	n.give(late)
	n.run("next", func() {})
	v := only(t, n.audit(t), report.FreedLate, 9*mib, 1)
	if v.Stack[1].Line != 2 || !strings.Contains(v.Evidence, "5.00 s") {
		t.Errorf("%+v", v)
	}

	n = newNotebook()
	n.run("cell", func() { late = n.take("cell", 2, 9*mib) })
	n.wait(5)
	n.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Text = event.TorchTotals })
	n.give(late)
	n.boundary(event.ProcessExit, main)
	none(t, n.finish(t))
}

// What is still there when the interpreter has cleared everything away was never freed, if it did clear.
func TestNeverFreed(t *testing.T) {
	for _, clears := range []bool{true, false} {
		n := newNotebook()
		var address uint64
		n.run("cell", func() { address = n.take("cell", 1, 2*mib); n.take("cell", 2, 6*mib) })
		if clears {
			n.give(address)
		}
		n.boundary(event.ProcessExit, main)
		if a := n.finish(t); clears {
			only(t, a, report.NeverFreed, 6*mib, 1)
		} else {
			none(t, a)
		}
	}
}

// Growth is found in a session that ends with its process, although everything is freed then.
func TestGrowthUntilExit(t *testing.T) {
	n := newNotebook()
	var all []uint64
	for range 3 {
		n.run("leaky", func() { all = append(all, n.take("leaky", 1, 2*mib)) })
	}
	n.give(all...)
	n.boundary(event.ProcessExit, main)
	only(t, n.finish(t), report.RerunGrowth, 6*mib, 1, 2, 3)
}

// torch is PyTorch's allocator on one GPU, as the events show it.
type torch struct {
	*notebook
	active, reserved event.Bytes
}

// segment takes one from the driver for a block of its own at its beginning.
func (p *torch) segment(size, block event.Bytes) uint64 {
	at := p.takeOf(event.OfDevice(0, event.Driver), "torch", 1, size)
	p.block(at, block)
	p.reserved += size
	p.move(event.Change{Meter: event.OfDevice(0, event.Reserved), Value: p.reserved, Size: size, Block: true})
	return at
}

// block hands a block out, or takes it back.
func (p *torch) block(at uint64, size event.Bytes) {
	p.active += size
	p.move(event.Change{Meter: event.OfDevice(0, event.Active), Value: p.active, Size: size, Address: at, Block: true})
}

// PyTorch's cache is in pieces if it takes more from the driver though as much was free in it, and what is free lies between
// blocks in use. Free segments are what a cache is for, and its blocks of the driver never count as the cell's.
func TestFragmentation(t *testing.T) {
	for _, pieces := range []bool{true, false} {
		p := &torch{notebook: newNotebook()}
		var segments []uint64
		for range 3 {
			p.run("train", func() { segments = append(segments, p.segment(100*mib, 100*mib)) })
		}
		p.run("free", func() {
			for _, at := range segments {
				p.block(at, -100*mib)
				if pieces {
					p.block(at+50<<20, 20*mib)
				}
			}
		})
		p.run("more", func() { p.segment(110*mib, 110*mib) })
		a := p.audit(t)
		if pieces {
			if v := only(t, a, report.Fragmentation, 240*mib, 5); v.Count != 1 || v.Meter != "gpu.0.reserved" {
				t.Errorf("%+v", v)
			}
		} else {
			none(t, a)
		}
		for _, h := range a.Held {
			if h.Meter == "gpu.0.driver" {
				t.Errorf("PyTorch's segments are held: %+v", h)
			}
		}
	}
}

// A process that a cell started and that still runs is named with its line; one that ended, one that a running cell
// has, and multiprocessing's own are not.
func TestChildAlive(t *testing.T) {
	n := newNotebook()
	start := func(pid int32, command string) {
		n.born(pid, 5000)
		if pid != 201 { // that one is a vfork: its parent waits until it executes a program
			n.boundary(event.ProcessStart, pid, func(b *event.Boundary) { b.Parent = main })
		}
		n.boundary(event.ProcessExec, pid, func(b *event.Boundary) { b.Parent, b.Text = main, command })
	}
	n.run("cell", func() {
		start(201, "sleep 1000")
		start(202, "true")
		start(203, "python -c from multiprocessing.resource_tracker import main;main(5)")
	})
	n.value[202] = 0
	n.boundary(event.ProcessExit, 202)
	n.order = slices.DeleteFunc(n.order, func(pid int32) bool { return pid == 202 })
	v := only(t, n.audit(t), report.ChildAlive, 5000, 1)
	if !strings.Contains(v.Evidence, "sleep 1000") || len(v.Stack) != 1 || v.Stack[0].Line != 1 {
		t.Errorf("%+v", v)
	}
}

// A child of vfork may be seen only when the statement, or the cell, that started it is over.
func TestChildSeenLate(t *testing.T) {
	for _, late := range []string{"statement", "cell"} {
		n := newNotebook()
		seen := func() {
			n.born(201, 5000)
			n.boundary(event.ProcessExec, 201, func(b *event.Boundary) { b.Parent, b.Text = main, "sleep 1000" })
		}
		n.cells++
		n.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.Text = 1, 2, "cell.py" })
		n.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 4 })
		n.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
		if late == "statement" {
			seen()
		}
		n.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
		if late == "cell" {
			seen()
		}
		if v := only(t, n.audit(t), report.ChildAlive, 5000, 1); len(v.Stack) != 1 || v.Stack[0].Line != 4 {
			t.Errorf("seen after the %s: %+v", late, v)
		}
	}
}

// A pause of NumPy's meter takes away nothing of what was known before; the audit says that it was there.
func TestAuditKnowsThroughAPause(t *testing.T) {
	n := newNotebook()
	for range 4 {
		n.run("leaky", func() { n.take("leaky", 1, 3*mib) })
	}
	n.boundary(event.MeterShed, main)
	a := n.audit(t)
	if len(a.Verdicts) != 1 || a.Verdicts[0].Bytes != 12*int64(mib) {
		t.Errorf("verdicts %+v", a.Verdicts)
	}
	if a.Complete || len(a.NotJudged) != 1 || a.NotJudged[0].Reason != report.SteppedDown || a.NotJudged[0].Meter != "cpu.numpy" {
		t.Errorf("complete %v, not judged %+v", a.Complete, a.NotJudged)
	}
}

// When the lines of malloc's blocks are stepped down, what they knew is forgotten, and the audit says so.
func TestAuditForgets(t *testing.T) {
	n := newNotebook()
	for range 4 {
		n.run("leaky", func() { n.take("leaky", 1, 3*mib) })
	}
	n.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Text = event.HeapStacks })
	a := n.audit(t)
	if a.Complete || len(a.NotJudged) != 1 || a.NotJudged[0].Reason != report.SteppedDown || a.NotJudged[0].Meter != "cpu.heap" || !a.CanExceed(1<<40) {
		t.Errorf("complete %v, not judged %+v", a.Complete, a.NotJudged)
	}
}

// What is held adds up to what lives, for random blocks.
func TestAuditAddsUp(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := newNotebook()
		for range 12 {
			n.run([]string{"a", "b", "c"}[r.IntN(3)], func() {
				for range r.IntN(20) {
					if len(n.sizes) > 0 && r.IntN(3) == 0 {
						for address := range n.sizes {
							n.give(address)
							break
						}
					} else {
						n.take("a", 1+r.IntN(4), event.Bytes(1+r.IntN(1<<20)))
					}
				}
			})
		}
		want, blocks := event.Bytes(0), int64(0)
		for _, c := range n.sizes {
			want += c.Size
			blocks++
		}
		a := n.audit(t)
		var sum, count int64
		for _, h := range a.Held {
			sum, count = sum+h.Bytes, count+h.Count
		}
		if sum != int64(want) || count != blocks {
			t.Fatalf("seed %d: %d bytes in %d blocks are held, want %d in %d", seed, sum, count, want, blocks)
		}
	}
}

// What was there before, what the process had when it ended and resident memory that no meter has are not judged, and with
// what else can be more than a limit is known.
func TestNotJudged(t *testing.T) {
	reasons := func(a *report.Audit) (all []string) {
		for _, n := range a.NotJudged {
			if n.Why == "" || n.Advice == "" {
				t.Errorf("without words: %+v", n)
			}
			all = append(all, n.Reason)
		}
		return all
	}
	n := newNotebook()
	n.run("cell", func() {})
	if a := n.audit(t); len(a.NotJudged) > 0 || !a.Complete || a.CanExceed(0) {
		t.Errorf("all was seen: %+v", a.NotJudged)
	}
	n = newNotebook()
	n.run("cell", func() { n.value[main] += 64 * 1 << 20 })
	a := n.audit(t)
	if got := reasons(a); !slices.Equal(got, []string{report.NotExplained}) || *a.NotJudged[0].Bytes != 64<<20 || a.CanExceed(64<<20) || !a.CanExceed(64<<20-1) {
		t.Errorf("resident memory grew: %+v", a.NotJudged)
	}
	auditor := NewAuditor()
	auditor.Add(&event.Finish{Problems: []string{"gpu.N.unattributed is not measured: no NVML", "a probe could not be placed"}})
	if a := auditor.Audit(1); !slices.Equal(reasons(a), []string{report.TracingProblem}) || !a.CanExceed(1<<40) {
		t.Errorf("problems: %+v", a.NotJudged)
	}
	n = newNotebook()
	n.run("cell", func() { n.take("cell", 1, 2*mib) })
	n.boundary(event.ProcessExit, main)
	if a := n.finish(t); !slices.Equal(reasons(a), []string{report.ProcessEnded}) || *a.NotJudged[0].Bytes != 2<<20 {
		t.Errorf("it ended with a block: %+v", a.NotJudged)
	}
}

// Workers that wait in a pool are one verdict on the pool, and no leak.
func TestIdlePool(t *testing.T) {
	n := newNotebook()
	n.run("cell", func() {
		for pid := int32(201); pid < 204; pid++ {
			n.born(pid, 3<<20)
			n.boundary(event.ProcessStart, pid, func(b *event.Boundary) { b.Parent = main })
			n.boundary(event.ProcessExec, pid, func(b *event.Boundary) {
				b.Parent, b.Text = main, fmt.Sprintf("python3 -m joblib.externals.loky.backend.popen_loky_posix --process-name LokyProcess-%d --pipe 14", pid)
			})
		}
	})
	a := n.audit(t)
	if v := only(t, a, report.IdlePool, 9<<20, 1); v.Count != 3 || !strings.Contains(v.Evidence, "joblib") {
		t.Errorf("%+v", v)
	}
	if len(a.ByMeter()) > 0 {
		t.Errorf("a pool counts as a leak: %v", a.ByMeter())
	}
}

// Arrays that no change told of are judged by what holds them: outputs, the last exception and cycles always, modules only where
// probes were out, so that they need not have been there before.
func TestMadeWhenNobodyLooked(t *testing.T) {
	for _, blind := range []bool{false, true} {
		n := newNotebook()
		if blind {
			n.boundary(event.MeterShed, main)
		}
		n.run("cell", func() {})
		size := 8 * mib
		n.hold(
			event.Holder{Address: 1 << 40, Size: size, Kind: event.HeldByOutput, Output: 1, Path: "Out[1]", Root: "Out"},
			event.Holder{Address: 2 << 40, Size: size, Kind: event.HeldByModule, Path: "lib.x", Root: "lib"},
			event.Holder{Address: 3 << 40, Size: size, Kind: event.HeldByCycle, Path: "….data"},
			event.Holder{Address: 4 << 40, Size: size, Kind: event.HeldByTraceback, Path: "batch", Root: "sys.last_value", Function: "step"},
			event.Holder{Address: 5 << 40, Size: size, Kind: event.HeldByVariable, Path: "x", Root: "x"},
		)
		a := n.audit(t)
		var kinds []string
		for _, v := range a.Verdicts {
			kinds = append(kinds, v.Kind)
			if v.Bytes != int64(size) || !strings.Contains(v.Evidence, "when nobody looked") || len(v.Stack) > 0 {
				t.Errorf("%+v", v)
			}
			if v.Kind == report.HeldByOutput && (v.Change == nil || v.Change.Execution != 1 || v.Change.Line != 1 || v.Fix != "%xdel _1") {
				t.Errorf("the cell that showed it: %+v, %q", v.Change, v.Fix)
			}
		}
		slices.Sort(kinds)
		want := []string{report.HeldAfterWindow, report.HeldByOutput, report.HeldByTraceback}
		if blind {
			want = []string{report.HeldAfterWindow, report.HeldAfterWindow, report.HeldByOutput, report.HeldByTraceback}
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("probes out %v: %v, want %v", blind, kinds, want)
		}
		if len(a.Held) != 5 || len(a.Live) != 0 {
			t.Errorf("held %+v, live %+v", a.Held, a.Live)
		}
	}
}

// All that one holder has is one verdict, whichever lines made it; what has no name is one for each line.
func TestOneVerdictForEachHolder(t *testing.T) {
	n := newNotebook()
	var all []uint64
	n.run("makes", func() {
		for line := 1; line <= 4; line++ {
			all = append(all, n.take("makes", line, mib))
		}
	})
	n.run("shows", func() {})
	n.hold(
		event.Holder{Address: all[0], Kind: event.HeldByOutput, Output: 2, Path: "Out[2]['a']", Root: "Out"},
		event.Holder{Address: all[1], Kind: event.HeldByOutput, Output: 2, Path: "Out[2]['b']", Root: "Out"},
		event.Holder{Address: all[2], Kind: event.HeldByModule, Path: "lib.cache['k']", Root: "lib"},
		event.Holder{Address: all[3], Kind: event.HeldByModule, Path: "lib.cache['l']", Root: "lib"},
	)
	a := n.audit(t)
	if len(a.Verdicts) != 2 {
		t.Fatalf("%+v", a.Verdicts)
	}
	for _, v := range a.Verdicts {
		switch v.Kind {
		case report.HeldByOutput:
			if v.Bytes != int64(2*mib) || v.Count != 2 || v.Change == nil || v.Change.Execution != 2 || v.Fix != "%xdel _2" || !strings.Contains(v.Evidence, "In[2]") {
				t.Errorf("%+v", v)
			}
		case report.HeldAfterWindow:
			if v.Bytes != int64(2*mib) || v.Change == nil || v.Change.Execution != 1 || v.Fix != "import sys\nsys.modules['lib'].cache.clear()" {
				t.Errorf("%+v", v)
			}
		default:
			t.Errorf("%+v", v)
		}
	}
}

// Student's quantiles, against published tables.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 10: 2.228, 15: 2.131, 16: 2.120, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980} {
		if got := student(freedom); got < want-0.0015 || got > want+0.0015 {
			t.Errorf("%d degrees: %f, want %f", freedom, got, want)
		}
	}
}

// TestSiteIsNamedAlike: of several stacks that are one place in the code, which one names it does not depend on which block is looked at first.
func TestSiteIsNamedAlike(t *testing.T) {
	names := map[uint64]string{5: "first.py", 7: "", 9: "second.py"}
	for _, order := range [][]uint64{{5, 7, 9}, {9, 5, 7}, {7, 9, 5}} {
		s := newSurvivors(New())
		var one *site
		for _, stack := range order {
			name := siteName{text: "x = 1", where: "f"}
			if names[stack] != "" {
				name.frames = []report.Frame{{File: names[stack]}}
			}
			s.named[named{main, stack, nil}] = name
			one = s.site(main, event.NumPy, stack, nil)
		}
		if len(one.frames) != 1 || one.frames[0].File != "first.py" {
			t.Errorf("%v: %+v", order, one.frames)
		}
	}
}

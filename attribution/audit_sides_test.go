package attribution

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// A process that a cell started and that still runs is named with its line. One that exited, one of a running cell, and
// multiprocessing's own are not.
func TestChildAlive(t *testing.T) {
	n := newNotebook()
	start := func(pid int32, command string) {
		n.born(pid, 5000)
		if pid != 201 { // 201 is a vfork: its parent waits until it executes a program
			n.boundary(event.ProcessStart, pid, func(b *event.Boundary) { b.Parent = main })
		}
		n.boundary(event.ProcessExec, pid, func(b *event.Boundary) { b.Parent, b.Command = main, command })
	}
	n.run("cell", func() {
		start(201, "sleep 1000")
		start(202, "true")
		start(203, "python -c from multiprocessing.resource_tracker import main;main(5)")
	})
	n.value[202] = 0
	n.boundary(event.ProcessExit, 202)
	n.order = slices.DeleteFunc(n.order, func(pid int32) bool { return pid == 202 })
	v := only(t, n.audit(t), model.ChildAlive, 5000, 1)
	if !strings.Contains(v.Evidence, "sleep 1000") || len(v.Stack) != 1 || v.Stack[0].Line != 1 {
		t.Errorf("%+v", v)
	}
}

// What ends a process is a name of the kernel's that holds it, or what started it; otherwise a signal, if the kernel
// has the tracer's numbers of processes.
func TestWhatEndsAChild(t *testing.T) {
	const killed = "import os, signal; os.kill(201, signal.SIGTERM)"
	named := func(name string, kind event.HolderKind, method event.EndMethod) event.Variable {
		return event.Variable{Name: name, Kind: kind, PIDs: []int32{200, 201}, EndedBy: method}
	}
	for want, v := range map[string]event.Variables{
		"client.close()": {Variables: []event.Variable{named("client", event.HeldByVariable, event.EndClose)}},
		killed: {SamePIDs: true,
			Variables: []event.Variable{named("m.p", event.HeldByModule, event.EndTerminate)}},
		"": {Variables: []event.Variable{named("p", event.HeldByVariable, "exec")}},
	} {
		n := newNotebook()
		n.run("cell", func() {
			n.born(201, 5000)
			n.boundary(event.ProcessExec, 201, func(b *event.Boundary) { b.Parent, b.Command = main, "sleep 1000" })
		})
		v.PID, v.Complete = main, true
		n.events = append(n.events, &v)
		if got := only(t, n.audit(t), model.ChildAlive, 5000, 1); got.Fix != want ||
			want != "" && want != killed && !strings.Contains(got.Advice, want+" ends it") {
			t.Errorf("%q, %q, want %q", got.Fix, got.Advice, want)
		}
	}
}

// A child of vfork may be seen only after the statement, or the cell, that started it is over.
func TestChildSeenLate(t *testing.T) {
	for _, late := range []string{"statement", "cell"} {
		n := newNotebook()
		seen := func() {
			n.born(201, 5000)
			n.boundary(event.ProcessExec, 201, func(b *event.Boundary) { b.Parent, b.Command = main, "sleep 1000" })
		}
		n.cells++
		n.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.File = 1, 2, "cell.py" })
		n.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 4 })
		n.boundary(event.StatementClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
		if late == "statement" {
			seen()
		}
		n.boundary(event.CellClose, main, func(b *event.Boundary) { b.Cell, b.Outcome = 1, event.OutcomeOK })
		if late == "cell" {
			seen()
		}
		if v := only(t, n.audit(t), model.ChildAlive, 5000, 1); len(v.Stack) != 1 || v.Stack[0].Line != 4 {
			t.Errorf("seen after the %s: %+v", late, v)
		}
	}
}

// A pause of NumPy's meter drops nothing that was known before; the audit reports the pause.
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
	if a.Complete || len(a.NotJudged) != 1 || a.NotJudged[0].Reason != model.SteppedDown ||
		a.NotJudged[0].Meter != "cpu.numpy" {
		t.Errorf("complete %v, not judged %+v", a.Complete, a.NotJudged)
	}
}

// An audit reports the pauses of each meter's blocks: after none of them does it claim, without findings, that nothing
// stays behind.
func TestAuditKnowsOfPauses(t *testing.T) {
	for _, f := range event.Meters() {
		for _, group := range f.Paused {
			if f.Kind != event.Blocks || group == event.SmallBlocks {
				continue
			}
			n := newNotebook()
			n.run("x = torch.ones(n)", func() {})
			n.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Group = group })
			n.run("y = torch.ones(n)", func() {})
			n.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Group = group })
			a := n.audit(t)
			if a.Complete || len(a.NotJudged) != 1 || a.NotJudged[0].Reason != model.SteppedDown ||
				a.NotJudged[0].Meter != f.String() || !a.CanExceed(1<<40) {
				t.Errorf("%v, %q: complete %v, not judged %+v", f.Meter, words.Group(group), a.Complete, a.NotJudged)
			}
		}
	}
}

// When the lines of malloc's blocks are paused, the records of these blocks are dropped, and the audit reports
// it.
func TestAuditForgets(t *testing.T) {
	n := newNotebook()
	for range 4 {
		n.run("leaky", func() { n.take("leaky", 1, 3*mib) })
	}
	n.boundary(event.MeterShed, main, func(b *event.Boundary) { b.Group = event.HeapStacks })
	a := n.audit(t)
	if a.Complete || len(a.NotJudged) != 1 || a.NotJudged[0].Reason != model.SteppedDown ||
		a.NotJudged[0].Meter != "cpu.heap" || !a.CanExceed(1<<40) {
		t.Errorf("complete %v, not judged %+v", a.Complete, a.NotJudged)
	}
}

// The held bytes add up to the live bytes, for random blocks.
func TestAuditAddsUp(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(50) {
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

// Memory from before the attach, memory that the process had when it exited, and resident memory of no meter are not
// judged. The audit knows whether the rest can exceed a limit.
func TestNotJudged(t *testing.T) {
	reasons := func(a *model.Audit) (all []string) {
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
	if got := reasons(a); !slices.Equal(got, []string{model.NotExplained}) || *a.NotJudged[0].Bytes != 64<<20 ||
		a.CanExceed(64<<20) || !a.CanExceed(64<<20-1) {
		t.Errorf("resident memory grew: %+v", a.NotJudged)
	}
	auditor := NewAuditor()
	auditor.Add(&event.Finish{Problems: []string{"gpu.N.unattributed is not measured: no NVML",
		"a probe could not be placed"}})
	if a := auditor.Audit(1); !slices.Equal(reasons(a), []string{model.TracingProblem}) || !a.CanExceed(1<<40) {
		t.Errorf("problems: %+v", a.NotJudged)
	}
	n = newNotebook()
	n.run("cell", func() { n.take("cell", 1, 2*mib) })
	n.boundary(event.ProcessExit, main)
	if a := n.finish(t); !slices.Equal(reasons(a), []string{model.ProcessEnded}) || *a.NotJudged[0].Bytes != 2<<20 {
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
				b.Parent = main
				b.Command = fmt.Sprintf("python3 -m joblib.externals.loky.backend.popen_loky_posix "+
					"--process-name LokyProcess-%d --pipe 14", pid)
			})
		}
	})
	a := n.audit(t)
	if v := only(t, a, model.IdlePool, 9<<20, 1); v.Count != 3 || !strings.Contains(v.Evidence, "joblib") {
		t.Errorf("%+v", v)
	}
	if len(a.ByMeter()) > 0 {
		t.Errorf("a pool counts as a leak: %v", a.ByMeter())
	}
}

// Arrays without a change are judged by their holders: outputs, the last exception, cycles, modules and attributes of
// classes always; those that a thread or C code has only where probes were detached, so that the arrays need not be
// from before the attach; those of plain variables never.
func TestMadeWhenNobodyLooked(t *testing.T) {
	for _, blind := range []bool{false, true} {
		n := newNotebook()
		if blind {
			n.boundary(event.MeterShed, main)
		}
		n.run("cell", func() {})
		size := 8 * mib
		n.hold(
			event.Holder{Address: 1 << 40, Size: size, Kind: event.HeldByOutput, Output: 1, Path: "Out[1]",
				Root: "Out"},
			event.Holder{Address: 2 << 40, Size: size, Kind: event.HeldByModule, Path: "lib.x", Root: "lib"},
			event.Holder{Address: 3 << 40, Size: size, Kind: event.HeldByCycle, Path: "….data"},
			event.Holder{Address: 4 << 40, Size: size, Kind: event.HeldByTraceback, Path: "batch",
				Root: "sys.last_value", Function: "step"},
			event.Holder{Address: 5 << 40, Size: size, Kind: event.HeldByVariable, Path: "x", Root: "x"},
			event.Holder{Address: 6 << 40, Size: size / 2, Kind: event.HeldByVariable, Path: "Model.cache[1]",
				Root: "Model", Class: true},
			event.Holder{Address: 7 << 40, Size: size / 2, Kind: event.HeldByVariable, Path: "Model.cache[2]",
				Root: "Model", Class: true},
			event.Holder{Address: 8 << 40, Size: size, Kind: event.HeldByThread, Path: "y", Function: "work"},
		)
		a := n.audit(t)
		var kinds, fixes []string
		for _, v := range a.Verdicts {
			kinds = append(kinds, v.Kind)
			if v.Bytes != int64(size) || !strings.Contains(v.Evidence, "when nobody looked") || len(v.Stack) > 0 {
				t.Errorf("%+v", v)
			}
			if v.Kind == model.HeldByOutput &&
				(v.Change == nil || v.Change.Execution != 1 || v.Change.Line != 1 || v.Fix != "%xdel _1") {
				t.Errorf("the cell that showed it: %+v, %q", v.Change, v.Fix)
			}
			fixes = append(fixes, v.Fix)
		}
		slices.Sort(kinds)
		want := []string{model.HeldAfterWindow, model.HeldAfterWindow, model.HeldAfterWindow, model.HeldByOutput,
			model.HeldByTraceback}
		if blind {
			want = append([]string{model.HeldAfterWindow}, want...)
		}
		for _, fix := range []string{"Model.cache.clear()", "import sys\ndel sys.modules['lib'].x"} {
			if !slices.Contains(fixes, fix) {
				t.Errorf("%q is not in %q", fix, fixes)
			}
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("probes out %v: %v, want %v", blind, kinds, want)
		}
		if len(a.Held) != 7 || len(a.Live) != 0 {
			t.Errorf("held %+v, live %+v", a.Held, a.Live)
		}
	}
}

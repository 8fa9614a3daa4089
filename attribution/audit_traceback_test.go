package attribution

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// Without its objects a failed statement still leads to a verdict: on the blocks that it allocated, without names.
func TestFailedStatementWithoutItsObjects(t *testing.T) {
	n := newNotebook()
	n.run("fine", func() { n.take("fine", 1, 8*mib) })
	n.ends("fails", event.OutcomeError, func() { n.take("fails", 4, 5*mib) })
	only(t, n.audit(t), model.HeldByTraceback, 5*mib, 2)

	n = newNotebook() // the next exception frees it
	var address uint64
	n.ends("fails", event.OutcomeError, func() { address = n.take("fails", 4, 5*mib) })
	n.wait(3)
	n.ends("again", event.OutcomeError, func() { n.give(address) })
	if v := only(t, n.audit(t), model.HeldByTraceback, 5*mib, 1); !strings.Contains(v.Evidence, "until In[2] failed") {
		t.Errorf("evidence %q", v.Evidence)
	}
}

// The objects of an exception's frames are freed some time after the next exception has come: the frames refer to the
// exception, so the garbage collector must free them, and it runs in any cell, or in none. A variable's block is freed
// when a cell says so.
func TestTracebackGoesLater(t *testing.T) {
	nothing := func() {}
	for name, c := range map[string]struct {
		between bool // a cell fails between the one that allocated it and the one that frees it
		frees   func(n *notebook, give func(), collect func())
		held    bool
	}{
		"collected between cells": {true, func(_ *notebook, _, collect func()) { collect() }, true},
		"collected in a cell": {true, func(n *notebook, _, collect func()) { n.run("fine", collect) },
			true},
		"collected in a later failed one": {true,
			func(n *notebook, _, collect func()) { n.ends("again", event.OutcomeError, collect) }, true},
		"collected after other cells": {true,
			func(n *notebook, _, collect func()) { n.run("fine", nothing); n.wait(9); n.run("more", collect) }, true},
		"freed right after the failed one": {true, func(_ *notebook, give, _ func()) { give() }, true},
		"freed by a cell":                  {true, func(n *notebook, give, _ func()) { n.run("fine", give) }, false},
		"freed by a statement of a cell that fails later": {true, func(n *notebook, give, _ func()) {
			n.failsIn(2, "twice", give)
		}, false},
		"collected with no other exception": {false,
			func(n *notebook, _, collect func()) { n.run("fine", collect) }, false},
		"collected between, no other exception": {false, func(_ *notebook, _, collect func()) { collect() }, false},
		"collected in a cell before it has failed": {false,
			func(n *notebook, _, collect func()) { n.failsIn(2, "twice", collect) }, false},
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
			if v := only(t, n.audit(t), model.HeldByTraceback, 5*mib, 1); !strings.Contains(v.Evidence,
				"until In[3] failed") {
				t.Errorf("evidence %q", v.Evidence)
			}
		})
	}
}

// Blocks that an exiting interpreter clears away were not held by a traceback.
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

// A block freed long after its cell, when no cell runs, was freed late; a block freed as the process exits was not.
func TestFreedLate(t *testing.T) {
	n := newNotebook()
	var soon, late uint64
	n.run("cell", func() { soon, late = n.take("cell", 1, 7*mib), n.take("cell", 2, 9*mib) })
	n.give(soon)
	n.wait(5)
	// any boundary will do: time goes on
	n.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Group = event.TorchTotals })
	n.give(late)
	n.run("next", func() {})
	v := only(t, n.audit(t), model.FreedLate, 9*mib, 1)
	if v.Stack[1].Line != 2 || !strings.Contains(v.Evidence, "5.00 s") {
		t.Errorf("%+v", v)
	}

	n = newNotebook()
	n.run("cell", func() { late = n.take("cell", 2, 9*mib) })
	n.wait(5)
	n.boundary(event.MeterBack, main, func(b *event.Boundary) { b.Group = event.TorchTotals })
	n.give(late)
	n.boundary(event.ProcessExit, main)
	none(t, n.finish(t))
}

// A block that is live after the interpreter has cleared everything away was never freed, if the interpreter did clear.
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
			only(t, a, model.NeverFreed, 6*mib, 1)
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
	only(t, n.finish(t), model.RerunGrowth, 6*mib, 1, 2, 3)
}

// The objects that the last exception holds were often allocated by cells that did not fail: the verdict names the
// failed cell, and that is the one to change. This is not so for IPython's copy, which can be of an earlier exception,
// nor if the failed cell allocated everything itself.
func TestTracebackNamesWhoRaised(t *testing.T) {
	for _, c := range []struct {
		maker, root, says string
		made, change      int
	}{
		{"fine", "sys.last_value", "In[3] failed; the traceback of its exception still has mapping['big'] of ChainMap",
			1, 3},
		{"fine", "get_ipython().InteractiveTB", "the cell failed; the traceback", 1, 1},
		{"fails", "sys.last_value", "the cell failed; the traceback", 3, 3},
	} {
		n := newNotebook()
		var address uint64
		make := func(text string) func() {
			return func() {
				if text == c.maker {
					address = n.take(text, 1, 5*mib)
				}
			}
		}
		n.run("fine", make("fine"))
		n.ends("earlier", event.OutcomeError, func() {})
		n.ends("fails", event.OutcomeError, make("fails"))
		n.run("later", func() {})
		n.hold(event.Holder{
			Address: address, Kind: event.HeldByTraceback, Path: "mapping['big']", Root: c.root, References: 1,
			Type: "numpy.ndarray", Function: "ChainMap.__getitem__",
		})
		v := only(t, n.audit(t), model.HeldByTraceback, 5*mib, c.made)
		if !strings.HasPrefix(v.Evidence, c.says) || v.Change == nil || v.Change.ExecutionCount != c.change {
			t.Errorf("%+v: %q, change %+v", c, v.Evidence, v.Change)
		}
	}
}

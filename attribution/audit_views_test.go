package attribution

import (
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestAuditOfViews: memory that only views hold has one verdict for all its views, with code that replaces each of
// them; there is no verdict where that would not free it.
func TestAuditOfViews(t *testing.T) {
	for _, c := range []struct {
		viewers []event.Viewer
		fix     string
	}{
		{[]event.Viewer{{Paths: []string{"a"}, How: []event.ViewCopy{event.CopyObject}}}, "a = a.copy()"},
		{[]event.Viewer{{Paths: []string{"a", "b"}, How: []event.ViewCopy{event.CopyObject}},
			{Paths: []string{"d['x'][0]"}, How: []event.ViewCopy{event.CopyTensor}}},
			"a = b = a.copy()\nd['x'][0] = d['x'][0].clone()"},
		{[]event.Viewer{{Paths: []string{"f"}, How: []event.ViewCopy{event.CopyIndex, event.CopyObject},
			Outputs: []int{7}}},
			"%xdel _7\nf = f.copy()\nf.index = f.index.copy(deep=True)"},
		{[]event.Viewer{{Paths: []string{"t", "u"}, How: []event.ViewCopy{event.CopyTable}},
			{Paths: []string{"x['x']"}, How: []event.ViewCopy{event.CopyArrow}}},
			"t = u = t.from_arrays([c.combine_chunks() for c in t.columns], schema=t.schema)\n" +
				"import pyarrow; x['x'] = pyarrow.concat_arrays([x['x']])"},
		{[]event.Viewer{{Paths: []string{"b"}, How: []event.ViewCopy{event.CopyBatch}},
			{Paths: []string{"c"}, How: []event.ViewCopy{event.CopyChunked}}},
			"import pyarrow; b = b.from_arrays([pyarrow.concat_arrays([c]) for c in b.columns], schema=b.schema)\n" +
				"import pyarrow; c = pyarrow.chunked_array([c.combine_chunks()])"},
		{[]event.Viewer{{Paths: []string{"s"}, How: []event.ViewCopy{event.CopyRepeated}},
			{Paths: []string{"f"}, How: []event.ViewCopy{event.CopyAnew, event.CopyObject}}},
			"s = s.repeat(1)\nf = f.copy()\nf = f.apply(lambda c: c.repeat(1))"},
		{[]event.Viewer{{Paths: []string{"a"}, How: []event.ViewCopy{event.CopyObject}},
			{Paths: []string{"t[0]"}, How: []event.ViewCopy{event.CopyObject}, Fixed: true}}, ""},
		{[]event.Viewer{{Paths: []string{"a; import os"}, How: []event.ViewCopy{event.CopyObject}}}, ""},
		{[]event.Viewer{{Paths: []string{"d['x\n']"}, How: []event.ViewCopy{event.CopyObject}}}, ""},
	} {
		n := newNotebook()
		var at uint64
		n.run("cell", func() { at = n.take("cell", 1, 8*mib) })
		e := saying(event.HeldByVariable, "a", at)
		e.Views = []event.View{{Address: at, Size: 8 * mib, Used: 4 << 10, Copies: 4 << 10, Small: 100,
			Type: "numpy.ndarray", Viewers: c.viewers}}
		a := n.so().AuditOne(int(main), []*event.Holders{e}, int64(mib))
		reporttest.Audit(t, a)
		if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != model.HeldByView {
			t.Fatalf("%+v", a.Verdicts)
		}
		v := a.Verdicts[0]
		if v.Fix != c.fix || v.View.Bytes != 4<<10 || v.View.Base != 8*int64(mib) ||
			v.View.Returns != 8*int64(mib)-4<<10+100 {
			t.Errorf("%q, want %q: %+v", v.Fix, c.fix, v.View)
		}
		if a.Held[0].By != "variable" || a.Live[0].By != "variable" {
			t.Errorf("accounts: %+v %+v", a.Held, a.Live)
		}
	}
}

// TestAuditOfGarbage: garbage that waits for the collector is no leak, and has one verdict for all of it, even if each
// run of a cell leaves more; garbage that the collector leaves alone is a leak.
func TestAuditOfGarbage(t *testing.T) {
	for _, c := range []struct {
		kind    event.HolderKind
		garbage event.Garbage
		want    string
		fix     string
	}{
		{event.HeldByCycle, event.GarbageWaits, model.Waits, freeing.Collect},
		{event.HeldByNone, event.GarbageYoung, model.Waits, freeing.Collect},
		{event.HeldByCycle, event.GarbageOff, model.HeldAfterWindow, freeing.Collect},
		{event.HeldByCycle, event.GarbageFrozen, model.HeldAfterWindow, freeing.Thaw},
		{event.HeldByCycle, event.GarbageLost, model.LostInCycle, ""},
		{event.HeldByNone, event.GarbageOld, model.HeldAfterWindow, ""},
		{event.HeldByNone, "", model.HeldAfterWindow, ""},
	} {
		n := newNotebook()
		var all []uint64
		n.run("one", func() { all = append(all, n.take("one", 1, 2*mib)) })
		n.run("two", func() { all = append(all, n.take("two", 1, 3*mib)) })
		e := saying(c.kind, "…", all...)
		for i := range e.Holders {
			e.Holders[i].Garbage = c.garbage
		}
		a := n.so().AuditOne(int(main), []*event.Holders{e}, int64(mib))
		reporttest.Audit(t, a)
		wanted := map[bool]int{true: 1, false: 2}[c.want == model.Waits]
		if len(a.Verdicts) != wanted || a.Verdicts[0].Kind != c.want || a.Verdicts[0].Fix != c.fix ||
			a.Held[0].By != string(c.kind) {
			t.Errorf("%s %s: %+v", c.kind, c.garbage, a.Verdicts)
		}
		if leaks := a.ByMeter()["cpu.numpy"]; (leaks == 0) != (c.want == model.Waits) {
			t.Errorf("%s %s: leaks of %d bytes", c.kind, c.garbage, leaks)
		}
	}
}

// TestAuditOfProbableGarbage: if a library's own memory accounts for a reference, the block is only probably garbage.
func TestAuditOfProbableGarbage(t *testing.T) {
	n := newNotebook()
	var address uint64
	n.run("one", func() { address = n.take("one", 1, 2*mib) })
	e := saying(event.HeldByCycle, "…", address)
	e.Holders[0].Garbage, e.Holders[0].Probable = event.GarbageWaits, true
	a := n.so().AuditOne(int(main), []*event.Holders{e}, int64(mib))
	v := only(t, a, model.Waits, 2*mib, 1)
	if !v.Probable || !strings.HasPrefix(v.Evidence, "it probably waits") || v.IsLeak() {
		t.Errorf("%+v", v)
	}
}

// TestAuditOfLostCycles: cycles that the collector does not see have a verdict apart from those that it sees, with the
// line that would have broken them and code that breaks them now. Paths of a process are hostile.
func TestAuditOfLostCycles(t *testing.T) {
	cut := func(path string, fill bool) []event.Cut {
		return []event.Cut{{Path: path, Type: "numpy.ndarray", Fill: fill}}
	}
	for _, c := range []struct {
		lost        event.Lost
		advice, fix string
	}{
		{event.Lost{Address: 0x10, Type: "Lattice", Name: "lat", Cuts: cut(".cells", true)}, "lat.cells[:] = None;",
			"[o.cells.fill(None) for o in gc.get_objects() if id(o) in (0x10,)];"},
		{event.Lost{Address: 0x10, Type: "dict", Cuts: cut("['a'][0]", true)}, "x['a'][0][:] = None (x is the dict)",
			"[o['a'][0].fill(None) for o in gc.get_objects() if id(o) in (0x10,)];"},
		{event.Lost{Address: 0x10, Type: "Grid", Cuts: cut(".row", false)}, "x.row = None (x is the Grid)",
			"[setattr(o, 'row', None) for o in gc.get_objects() if id(o) in (0x10,)];"},
		{event.Lost{Address: 0x10, Type: "list", Cuts: cut("[3]", false)}, "x[3] = None (x is the list)",
			"[o.__setitem__(3, None) for o in gc.get_objects() if id(o) in (0x10,)];"},
		{event.Lost{Address: 0x10, Type: "Grid", Cuts: append(cut(".a", true), cut(".b", false)...)},
			"x.a[:] = None; x.b = None (x is the Grid)",
			"[(o.a.fill(None), setattr(o, 'b', None)) for o in gc.get_objects() if id(o) in (0x10,)];"},
		{event.Lost{Address: 0x10, Type: "Grid", Cuts: cut(".a", true), More: true}, "weakref", ""},
		{event.Lost{Type: "Grid", Cuts: cut(".a", true)}, "x.a[:] = None", ""},
		{event.Lost{Address: 0x10, Cuts: cut(".a'); import os; ('", false)}, "weakref", ""},
		{event.Lost{Address: 0x10, Cuts: cut("", false)}, "weakref", ""},
		{event.Lost{}, "weakref", ""},
	} {
		n := newNotebook()
		var at [2]uint64
		n.run("one", func() { at[0] = n.take("one", 1, 2*mib) })
		n.run("two", func() { at[1] = n.take("two", 1, 3*mib) })
		e := saying(event.HeldByCycle, "….data", at[:]...)
		for i := range e.Holders {
			e.Holders[i].Garbage = event.GarbageWaits
			if e.Holders[i].Address == at[1] {
				e.Holders[i].Garbage, e.Holders[i].Lost = event.GarbageLost, &c.lost
			}
		}
		a := n.so().AuditOne(int(main), []*event.Holders{e}, int64(mib))
		reporttest.Audit(t, a)
		if len(a.Verdicts) != 2 || a.Verdicts[0].Kind != model.LostInCycle || a.Verdicts[0].Bytes != 3*int64(mib) ||
			a.Verdicts[1].Kind != model.Waits || a.Verdicts[1].Bytes != 2*int64(mib) {
			t.Fatalf("%+v", a.Verdicts)
		}
		want := c.fix
		if want != "" {
			want = "import gc\n" + want + "\ngc.collect()"
		}
		if v := a.Verdicts[0]; v.Fix != want || !strings.Contains(v.Advice, c.advice) || !v.IsLeak() {
			t.Errorf("%q, %q, want %q and %q", v.Advice, v.Fix, c.advice, c.fix)
		}
		if leaks := a.ByMeter()["cpu.numpy"]; leaks != 3*int64(mib) {
			t.Errorf("leaks of %d bytes", leaks)
		}
	}
}

package instruments

import (
	"slices"
	"testing"

	"ipytracer/internal/code/machine"
	"ipytracer/internal/code/machine/x86"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// TestDoubtedGroups: a doubted function is listed for the group of its probes, and for no other.
func TestDoubtedGroups(t *testing.T) {
	sites := cpython.Sites{
		EvalCode:  machine.Site{Symbol: "PyEval_EvalCode"},
		SetSignal: machine.Site{Symbol: "PyOS_setsig"},
		Ends:      []cpython.EndSite{{Site: machine.Site{Symbol: "_PyGen_SetStopIterationValue"}}},
		Doubted:   []string{"PyOS_setsig", "_PyGen_SetStopIterationValue"},
	}
	for g, want := range map[ledger.Group][]string{
		ledger.GroupStatement: nil, ledger.GroupSignal: {"PyOS_setsig"},
		ledger.GroupResult: {"_PyGen_SetStopIterationValue"},
	} {
		if got := Doubted(g, sites); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", g, got, want)
		}
	}
}

// TestEndPlacements: the program receives, for each place, the argument that has the value, and the price of a hit
// there.
func TestEndPlacements(t *testing.T) {
	sites := cpython.Sites{Ends: []cpython.EndSite{
		{Site: machine.Site{FileOffset: 16, Emulated: true}, Argument: cpython.FirstArgument},
		{Site: machine.Site{FileOffset: 32}, Argument: cpython.SecondArgument},
	}}
	got := ends(sites)
	if len(got) != 1 || !slices.Equal(got[0].Offsets, []uint64{16, 32}) ||
		!slices.Equal(got[0].Cookies, []uint64{0, 1<<63 | 1}) {
		t.Errorf("%+v", got)
	}
	if ends(cpython.Sites{}) != nil {
		t.Error("places without sites")
	}
	sites.Marimo = &cpython.MarimoSites{CoroutineFreed: machine.Site{Symbol: "f", FileOffset: 48}}
	if got = ends(sites); len(got) != 2 || got[1].Program != ledger.StatementReturn ||
		!slices.Equal(got[1].Offsets, []uint64{48}) ||
		!slices.Equal(got[1].Cookies, []uint64{1<<63 | ledger.CoroutineFreed}) {
		t.Errorf("of marimo: %+v", got)
	}
}

// TestMarimoPlacements: eval() has one more place in processes of marimo, and in a build without that place
// PyEval_EvalCode serves there.
func TestMarimoPlacements(t *testing.T) {
	site := func(offset uint64) machine.Site { return machine.Site{Symbol: "f", FileOffset: offset, Emulated: true} }
	sites := cpython.Sites{
		EvalCode: site(16), EvalReturns: []machine.ReturnSite{{Site: site(32)}, {Site: site(48)}},
		Statements: cpython.StatementSites{Exec: site(64), Behind: site(80), Eval: site(96)},
	}
	offsets := func() (all []uint64) {
		for _, p := range statementPlacements(sites) {
			all = append(all, p.Offsets...)
		}
		return all
	}
	for marimo, want := range map[*cpython.MarimoSites][]uint64{
		nil: {64, 96, 80}, {BehindEval: site(112)}: {64, 96, 80, 112}, {}: {16, 32, 48},
	} {
		if sites.Marimo = marimo; !slices.Equal(offsets(), want) {
			t.Errorf("%+v: %v, want %v", marimo, offsets(), want)
		}
	}
}

// TestBuildWhoseCellsCannotBeSeen: a build is blind if its cells cannot be seen, so that none is reported.
func TestBuildWhoseCellsCannotBeSeen(t *testing.T) {
	site := func(name string) machine.Site { return machine.Site{Symbol: name, FileOffset: 16} }
	sees := cpython.Sites{Compile: site("Py_CompileStringObject"),
		Ends: []cpython.EndSite{{Site: site("_PyGen_SetStopIterationValue")}}}
	for name, c := range map[string]struct {
		change func(*cpython.Sites)
		blind  bool
	}{
		"sees":            {func(*cpython.Sites) {}, false},
		"no start":        {func(s *cpython.Sites) { s.Compile = machine.Site{} }, true},
		"no end":          {func(s *cpython.Sites) { s.Ends = nil }, true},
		"a doubted start": {func(s *cpython.Sites) { s.Doubted = []string{"Py_CompileStringObject"} }, true},
		"a doubted end":   {func(s *cpython.Sites) { s.Doubted = []string{"_PyGen_SetStopIterationValue"} }, true},
		"doubted signals": {func(s *cpython.Sites) { s.Doubted = []string{"PyOS_setsig"} }, false},
		"inlined":         {func(s *cpython.Sites) { s.CompileInlined = true }, true},
		"inlined, audited": {func(s *cpython.Sites) {
			s.CompileInlined, s.Compiles = true, []machine.Site{site("PySys_Audit")}
		}, false},
	} {
		s := sees
		if c.change(&s); (CellsUnseen(s) != "") != c.blind {
			t.Errorf("%s: %q", name, CellsUnseen(s))
		}
	}
}

// TestStatementPlacements: a build's narrow places for statements serve where it has them, else those in
// PyEval_EvalCode; without ends there are none.
func TestStatementPlacements(t *testing.T) {
	site := func(at uint64) machine.Site {
		return machine.Site{Symbol: "x", FileOffset: at, Pushed: 8, Emulated: true}
	}
	sites := cpython.Sites{EvalCode: site(16), EvalReturns: []machine.ReturnSite{{Site: site(32), Result: x86.RBX}}}
	check := func(name string, opens, cookies, ends []uint64) {
		t.Helper()
		got := OfPython(ledger.GroupStatement, sites)
		if len(got) != 2 || got[0].Program != ledger.StatementOpen || got[1].Program != ledger.StatementReturn ||
			!slices.Equal(got[0].Offsets, opens) || !slices.Equal(got[0].Cookies, cookies) ||
			!slices.Equal(got[1].Offsets, ends) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	check("in the function", []uint64{16}, []uint64{8}, []uint64{32})
	sites.Statements = cpython.StatementSites{Exec: site(48), Behind: site(64), Eval: site(80)}
	check("at its calls", []uint64{48, 80}, []uint64{8, 8 | 1<<16}, []uint64{64})
	if got := OfPython(ledger.GroupStatement, cpython.Sites{EvalCode: site(16)}); got != nil {
		t.Errorf("statements without ends: %+v", got)
	}
}

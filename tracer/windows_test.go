package tracer

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// pythonWith returns an interpreter with only a version and sites.
func pythonWith(t *testing.T, sites cpython.Sites) *tracee.Python {
	t.Helper()
	file := elftest.File{Symbols: []elftest.Symbol{
		{Name: "Py_Version", Addr: elftest.Text, Size: 8, Data: elftest.Word32(0x030b04f0)},
		{Name: "PyEval_EvalCode", Addr: elftest.Text + 0x100, Size: 2, Data: []byte{0x53, 0xc3}},
		{Name: "_PyRuntime", Addr: elftest.Text + 0x400, Size: 1000},
	}}
	binary, err := cpython.Open(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return &tracee.Python{Binary: binary, Sites: sites, File: &process.MappedFile{}}
}

// seen returns the sites of a build with visible cells, but not their statements.
func seen() cpython.Sites {
	site := func(name string) machine.Site { return machine.Site{Symbol: name, FileOffset: 16} }
	return cpython.Sites{
		Compile: site("Py_CompileStringObject"), Ends: []cpython.EndSite{{Site: site("_PyGen_SetStopIterationValue")}},
		SetSignal: site("PyOS_setsig"), CodeFreed: site("code_dealloc"), Track: site("PyTraceMalloc_Track"),
		Untrack: site("PyTraceMalloc_Untrack"),
	}
}

func windows(h *fakeHost, p *tracee.Python) *instruments.WindowInstrument {
	return &instruments.WindowInstrument{Host: h.host(), Target: &tracee.Target{PID: 7, Python: p}}
}

func programs(h *fakeHost) (all []ledger.Program) {
	for _, placements := range h.placed {
		for _, p := range placements {
			all = append(all, p.Program)
		}
	}
	h.placed = nil
	return all
}

// TestWindowInstrument: all groups of a build are placed except NumPy's and those paused. A group without a place
// is reported.
func TestWindowInstrument(t *testing.T) {
	h := &fakeHost{shed: []ledger.Group{ledger.GroupSignal}}
	i := windows(h, pythonWith(t, seen()))
	if err := i.Resume(ledger.GroupCode); err != nil || !i.Target.Python.CodeFrees {
		t.Errorf("%v, frees of code are seen: %v", err, i.Target.Python.CodeFrees)
	}
	if err := i.Place(); err != nil {
		t.Fatal(err)
	}
	if got, want := programs(h), []ledger.Program{ledger.CodeFreed, ledger.CellResult,
		ledger.CellCompile}; !slices.Equal(got, want) {
		t.Errorf("placed %v, want %v", got, want)
	}
	if len(h.problems) != 1 || !strings.Contains(h.problems[0], ledger.GroupStatement.String()) ||
		!strings.Contains(h.problems[0], "3.11.4") || h.unseen != 0 {
		t.Errorf("problems %q, %d unseen", h.problems, h.unseen)
	}
	if h.uses[ledger.GroupCell] == "" || h.uses[ledger.GroupCode] == "" || h.uses[ledger.GroupSignal] != "" ||
		h.uses[ledger.GroupNumPy] != "" {
		t.Errorf("used %v", h.uses)
	}
	i.Close()
	if h.taken != 3 {
		t.Errorf("%d taken out", h.taken)
	}
}

// TestWindowSteps: a group goes alone, comes back once, and belongs to another instrument if it is NumPy's.
func TestWindowSteps(t *testing.T) {
	h := &fakeHost{}
	i := windows(h, pythonWith(t, seen()))
	if err := i.Place(); err != nil {
		t.Fatal(err)
	}
	if i.Target.Python.CodeFrees || h.uses[ledger.GroupCode] != "" {
		t.Error("nobody has asked for frees of code")
	}
	programs(h)
	for range 2 {
		i.Pause(ledger.GroupResult)
		i.Pause(ledger.GroupNumPy)
	}
	if h.taken != 1 {
		t.Errorf("%d taken out", h.taken)
	}
	for range 2 {
		for g := range ledger.Group(ledger.GroupCount) {
			if err := i.Resume(g); g != ledger.GroupCode && err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, want := programs(h), []ledger.Program{ledger.CellResult, ledger.CodeFreed}; !slices.Equal(got, want) {
		t.Errorf("put back %v, want %v", got, want)
	}
	h.refused = errors.New("no room")
	i.Pause(ledger.GroupCell)
	if err := i.Resume(ledger.GroupCell); !errors.Is(err, h.refused) || !strings.Contains(err.Error(), "pid 7") {
		t.Errorf("%v", err)
	}
	i.Close()
	i.Close()
	if h.taken != 5 {
		t.Errorf("%d taken out", h.taken)
	}
}

// TestWindowsUnseen: a Python with cells that cannot be seen is counted once.
func TestWindowsUnseen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*cpython.Sites)
		said   string
	}{
		"inlined": {func(s *cpython.Sites) { s.CompileInlined, s.Doubted = true, []string{"Py_CompileStringObject"} },
			"compiles without calling Py_CompileStringObject"},
		"no place": {func(s *cpython.Sites) { s.Compile = machine.Site{} },
			"no place for the probes on " + ledger.GroupCell.String()},
		"doubted": {func(s *cpython.Sites) { s.Doubted = []string{"_PyGen_SetStopIterationValue"} },
			"nothing calls _PyGen_SetStopIterationValue"},
	} {
		h, sites := &fakeHost{}, seen()
		c.change(&sites)
		i := windows(h, pythonWith(t, sites))
		if err := i.Place(); err != nil || h.unseen != 1 || !strings.Contains(strings.Join(h.problems, "\n"), c.said) {
			t.Errorf("%s: %v, %d unseen, problems %q", name, err, h.unseen, h.problems)
		}
		i.Close()
	}
}

// TestBreakpointInAnInstruction: a breakpoint may begin with the byte that the instruction begins with. Memory that
// ends there tells what it has.
func TestBreakpointInAnInstruction(t *testing.T) {
	for _, c := range []struct {
		file, memory string
		none         bool
	}{
		{"\xa0\x02\x00\xf9", "\xa0\x00\x20\xd4", false}, // str x0, [x21]; brk 5
		{"\xa0\x02\x00\xf9", "\xa0\x02\x00\xf9", true},
		{"\x55\x48\x89\xe5", "\xcc\x48\x89\xe5", false}, // push %rbp; int3
		{"\x55\x48\x89\xe5", "\x55\x48\x89\xe5", true},
		{"\xc3", "\xcc", false},
		{"\xc3", "\xc3", true},
		{"\xc3", "", false}, // not known
		{"", "\xc3", false},
	} {
		err := instruments.Inserted(strings.NewReader(c.file), 0, strings.NewReader(c.memory), 0)
		if errors.Is(err, instruments.ErrNoEffect) != c.none || err != nil && !c.none {
			t.Errorf("%x in the file, %x in memory: %v", c.file, c.memory, err)
		}
	}
}

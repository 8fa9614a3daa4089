package cpython

import (
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// Sites is where a build is probed. At an entry site the argument registers named here still hold the
// arguments.
type Sites struct {
	// Compile is Py_CompileStringObject(source, filename, start, flags).
	Compile machine.Site
	// CompileInlined reports that compile() does not go through Compile (libpython3.15): use Compiles.
	CompileInlined bool
	// Compiles are the calls PySys_Audit("compile", "yO", source, filename), which every compile of a source passes.
	Compiles []machine.Site
	// EvalCode is PyEval_EvalCode(code).
	EvalCode machine.Site
	// EvalReturns are the places where PyEval_EvalCode's result is seen. Each call that returns passes exactly one of
	// them that counts (see [machine.ReturnSite]), exactly once.
	EvalReturns []machine.ReturnSite
	// EvalReturnsComplete is false where PyEval_EvalCode may also return otherwise (a tail call).
	EvalReturnsComplete bool
	// Statements are narrower places for the same; not present where they are not found.
	Statements StatementSites
	// Ends are the places where coroutines end that code in C drives: _PyGen_SetStopIterationValue, and the calls in
	// its callers' code where the compiler has put its body there.
	Ends []EndSite
	// Doubted are the exported functions that stand for a site here and have hardly any caller in this build: the
	// compiler may have put their bodies elsewhere, where no probe sees them.
	Doubted []string
	// SetSignal is PyOS_setsig(signal, handler).
	SetSignal machine.Site
	// Prompt is PyOS_Readline.
	Prompt machine.Site
	// Track is PyTraceMalloc_Track(domain, address, bytes); Untrack is
	// PyTraceMalloc_Untrack(domain, address).
	Track, Untrack machine.Site
	// CodeFreed is in the function that frees a code object, its first argument.
	CodeFreed machine.Site
	// Marimo are more places for cells of marimo; nil where they are not to be probed.
	Marimo *MarimoSites
}

// Sites finds where to attach. A function that the build does not export has a zero Site. The error matches
// [ErrUnsupported] for a free-threaded build.
func (b *Binary) Sites() (Sites, error) {
	if err := b.checkLayout(); err != nil || b.image == nil {
		return Sites{}, err
	}
	text := machine.NewText(b.image)
	s := Sites{
		EvalCode:  text.Entry(evalCodeSymbol, 1),
		SetSignal: text.Entry("PyOS_setsig", 2),
		Prompt:    text.Entry("PyOS_Readline", 0),
		Track:     text.Entry("PyTraceMalloc_Track", 3),
		Untrack:   text.Entry("PyTraceMalloc_Untrack", 2),
		CodeFreed: b.freeingSite(text, "PyCode_Type"),
	}
	s.Marimo = &MarimoSites{CoroutineFreed: b.freeingSite(text, "PyCoro_Type")}
	var thunk bool
	s.Compile, thunk = b.compileSite(text)
	s.CompileInlined = s.Compile.Present() && b.version.Minor >= 15 && !thunk
	refs := text.Refer(stopSymbol, slices.Concat(makers, []string{endSymbol, auditSymbol}, doubtful)...)
	s.Ends, s.Doubted = b.endSites(text, refs)
	s.Compiles = b.compileCalls(text, refs)
	s.Doubted = append(s.Doubted, b.uncalled(text, refs)...)
	s.EvalReturns, s.EvalReturnsComplete = text.Returns(evalCodeSymbol)
	s.Statements, s.Marimo.BehindEval = b.statementSites(text, refs)
	return s, nil
}

// compileSite follows the thunk that Py_CompileStringObject is in static 3.15 builds, where compile() calls the thunk's
// target, _Py_CompileStringObjectWithModule, directly (Python/pythonrun.c).
func (b *Binary) compileSite(text *machine.Text) (site machine.Site, thunk bool) {
	const name, arguments = "Py_CompileStringObject", 4
	fn, ok := b.image.Function(name)
	if !ok {
		return machine.Site{}, false
	}
	if target, ok := text.Thunk(fn, arguments); ok {
		return text.EntryIn(name, elffile.Symbol{Value: target, Function: true}, arguments), true
	}
	return text.EntryIn(name, fn, arguments), false
}

// Offsets returns the file offsets of all places that the build has.
func (s Sites) Offsets() (offsets []uint64) {
	add := func(sites ...machine.Site) {
		for _, site := range sites {
			if site.Present() {
				offsets = append(offsets, site.FileOffset)
			}
		}
	}
	add(s.Compile, s.EvalCode, s.SetSignal, s.Prompt, s.Track, s.Untrack, s.CodeFreed, s.Statements.Exec,
		s.Statements.Behind, s.Statements.Eval)
	if s.Marimo != nil {
		add(s.Marimo.BehindEval, s.Marimo.CoroutineFreed)
	}
	add(s.Compiles...)
	for _, r := range s.EvalReturns {
		add(r.Site)
	}
	for _, e := range s.Ends {
		add(e.Site)
	}
	return offsets
}

const auditSymbol = "PySys_Audit"

// compileCalls returns the calls PySys_Audit("compile", "yO", source, filename), which it finds by the texts that they
// pass: Parser/peg_api.c of 3.9 and newer. 3.9 has two parsers, and so two calls.
func (b *Binary) compileCalls(text *machine.Text, refs *machine.References) (sites []machine.Site) {
	calls, ok := refs.Calls(auditSymbol)
	if !ok {
		return nil
	}
	for _, call := range calls {
		event, format, ok := text.Passed(call)
		if ok && b.hasText(event, "compile\x00") && b.hasText(format, "yO\x00") {
			sites = append(sites, text.At(auditSymbol, call))
		}
	}
	return sites
}

// hasText reports whether the file has a text at an address.
func (b *Binary) hasText(addr uint64, text string) bool {
	got := make([]byte, len(text))
	return addr != 0 && b.image.Read(addr, got) == nil && string(got) == text
}

package instruments

// The functions Of… map the places that analyses have found in interpreters, in NumPy and in libraries to the programs
// of the kernel half that serve them.

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/code/machine"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// add adds a place with its cookie.
func add(to *ledger.Placement, offset, cookie uint64) {
	to.Offsets, to.Cookies = append(to.Offsets, offset), append(to.Cookies, cookie)
}

// wayOut returns the cookie of a place where a function returns.
func wayOut(r machine.ReturnSite) uint64 {
	return ledger.WayOut(r.Pushed, uint8(r.Result), r.Condition.Mask, r.Condition.Value)
}

// OfPython returns the programs that serve a group on a build, with their places.
func OfPython(g ledger.Group, s cpython.Sites) []ledger.Placement {
	entry := func(p ledger.Program, site machine.Site, cookie uint64) []ledger.Placement {
		if !site.Present() {
			return nil
		}
		return []ledger.Placement{{Program: p, Offsets: []uint64{site.FileOffset},
			Cookies: []uint64{ledger.At(site.Emulated, cookie)}}}
	}
	switch g {
	case ledger.GroupNumPy:
		if s.Track.Present() && s.Untrack.Present() {
			return append(entry(ledger.NumPyTrack, s.Track, 0), entry(ledger.NumPyUntrack, s.Untrack, 0)...)
		}
	case ledger.GroupStatement:
		return statementPlacements(s)
	case ledger.GroupResult:
		return ends(s)
	case ledger.GroupCell:
		if !compiledByAudit(s) {
			return entry(ledger.CellCompile, s.Compile, 0)
		}
		p := ledger.Placement{Program: ledger.CellCompile}
		for _, call := range s.Compiles {
			add(&p, call.FileOffset, ledger.At(call.Emulated, ledger.Audited))
		}
		return []ledger.Placement{p}
	case ledger.GroupSignal:
		return append(entry(ledger.CellSignal, s.SetSignal, 0), entry(ledger.CellSignal, s.Prompt, ledger.Prompt)...)
	case ledger.GroupCode:
		return entry(ledger.CodeFreed, s.CodeFreed, 0)
	}
	return nil
}

// statementPlacements returns the placements at which statements begin and end: the calls of PyEval_EvalCode in exec()
// and eval(). In a build where these are not found, it is that function itself, which other callers pass, too.
func statementPlacements(s cpython.Sites) []ledger.Placement {
	opens, returns := ledger.Placement{Program: ledger.StatementOpen}, ledger.Placement{Program: ledger.StatementReturn}
	open := func(site machine.Site, awaits bool) {
		add(&opens, site.FileOffset, ledger.At(site.Emulated, ledger.StatementPlace(site.Pushed, awaits)))
	}
	exits := s.EvalReturns
	if isNarrow(s) {
		open(s.Statements.Exec, false)
		open(s.Statements.Eval, true)
		exits = []machine.ReturnSite{{Site: s.Statements.Behind, Result: machine.Returned}}
		if s.Marimo != nil {
			exits = append(exits, machine.ReturnSite{Site: s.Marimo.BehindEval, Result: machine.Returned})
		}
	} else if s.EvalCode.Present() {
		open(s.EvalCode, false)
	}
	for _, r := range exits {
		add(&returns, r.FileOffset, ledger.At(r.Emulated, wayOut(r)))
	}
	if len(opens.Offsets) == 0 || len(exits) == 0 {
		return nil
	}
	return []ledger.Placement{opens, returns}
}

// isNarrow reports whether the places in exec() and eval() serve. Marimo needs one more of them.
func isNarrow(s cpython.Sites) bool {
	return s.Statements.Present() && (s.Marimo == nil || s.Marimo.BehindEval.Present())
}

// compiledByAudit reports whether compiles are seen at their calls of PySys_Audit, because they bypass the function
// that usually serves.
func compiledByAudit(s cpython.Sites) bool {
	passedBy := !s.Compile.Present() || s.CompileInlined || slices.Contains(s.Doubted, s.Compile.Symbol)
	return passedBy && len(s.Compiles) > 0
}

// ends places the programs that see coroutines end.
func ends(s cpython.Sites) []ledger.Placement {
	if len(s.Ends) == 0 {
		return nil
	}
	p := ledger.Placement{Program: ledger.CellResult}
	for _, e := range s.Ends {
		add(&p, e.FileOffset, ledger.At(e.Emulated, uint64(e.Argument)))
	}
	placements := []ledger.Placement{p}
	if s.Marimo != nil && s.Marimo.CoroutineFreed.Present() {
		freed := ledger.Placement{Program: ledger.StatementReturn}
		add(&freed, s.Marimo.CoroutineFreed.FileOffset, ledger.At(s.Marimo.CoroutineFreed.Emulated,
			ledger.CoroutineFreed))
		placements = append(placements, freed)
	}
	return placements
}

// Doubted returns the functions with a group's probes that have hardly any callers in this build.
func Doubted(g ledger.Group, s cpython.Sites) (names []string) {
	for _, site := range Sites(g, s) {
		if slices.Contains(s.Doubted, site.Symbol) && !slices.Contains(names, site.Symbol) {
			names = append(names, site.Symbol)
		}
	}
	return names
}

// Sites returns a group's sites, for display.
func Sites(g ledger.Group, s cpython.Sites) []machine.Site {
	switch g {
	case ledger.GroupNumPy:
		return []machine.Site{s.Track, s.Untrack}
	case ledger.GroupStatement:
		if isNarrow(s) {
			return []machine.Site{s.Statements.Exec, s.Statements.Behind, s.Statements.Eval}
		}
		sites := []machine.Site{s.EvalCode}
		for _, r := range s.EvalReturns {
			sites = append(sites, r.Site)
		}
		return sites
	case ledger.GroupResult:
		sites := make([]machine.Site, 0, len(s.Ends))
		for _, e := range s.Ends {
			sites = append(sites, e.Site)
		}
		return sites
	case ledger.GroupCell:
		if compiledByAudit(s) {
			return s.Compiles
		}
		return []machine.Site{s.Compile}
	case ledger.GroupSignal:
		return []machine.Site{s.SetSignal, s.Prompt}
	case ledger.GroupCode:
		return []machine.Site{s.CodeFreed}
	}
	return nil
}

// CellsUnseen returns why cells of a build cannot be seen, "" if they can: no place shows that they begin or have their
// results, or no call passes the place.
func CellsUnseen(s cpython.Sites) string {
	if s.CompileInlined && !compiledByAudit(s) {
		return "it compiles without calling Py_CompileStringObject"
	}
	for _, g := range []ledger.Group{ledger.GroupCell, ledger.GroupResult} {
		if len(OfPython(g, s)) == 0 {
			return fmt.Sprintf("it has no place for the probes on %v", g)
		}
		if names := Doubted(g, s); len(names) > 0 {
			return fmt.Sprintf("nothing calls %s, where the probes on %v would be", strings.Join(names, ", "), g)
		}
	}
	return ""
}

// Describe names the places of a group: "PyEval_EvalCode+0, +237".
func Describe(sites []machine.Site) string {
	var out strings.Builder
	last := ""
	for _, site := range sites {
		if out.Len() > 0 {
			out.WriteString(", ")
		}
		if site.Symbol != last {
			out.WriteString(site.Symbol)
			last = site.Symbol
		}
		fmt.Fprintf(&out, "%+d", site.Delta)
		if !site.Emulated {
			out.WriteString(" (single-stepped)")
		}
	}
	return out.String()
}

package tracer

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/tracer/cpython"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/machine"
)

// placements says which programs serve a group on a build.
func placements(g ledger.Group, s cpython.Sites) []ledger.Placement {
	entry := func(p ledger.Program, site machine.Site) []ledger.Placement {
		if !site.Present() {
			return nil
		}
		return []ledger.Placement{{Program: p, Offsets: []uint64{site.FileOffset}}}
	}
	switch g {
	case ledger.GroupNumPy:
		if s.Track.Present() && s.Untrack.Present() {
			return append(entry(ledger.NumPyTrack, s.Track), entry(ledger.NumPyUntrack, s.Untrack)...)
		}
	case ledger.GroupStatement:
		if !s.EvalCode.Present() || len(s.EvalReturns) == 0 {
			return nil
		}
		returns := ledger.Placement{Program: ledger.StatementReturn}
		for _, r := range s.EvalReturns {
			returns.Offsets = append(returns.Offsets, r.FileOffset)
			returns.Cookies = append(returns.Cookies,
				ledger.WayOut(r.Pushed, uint8(r.Result), r.Condition.Mask, r.Condition.Value))
		}
		return append(entry(ledger.StatementOpen, s.EvalCode), returns)
	case ledger.GroupResult:
		return ends(s.Ends)
	case ledger.GroupCell:
		if !compiledByAudit(s) {
			return entry(ledger.CellCompile, s.Compile)
		}
		p := ledger.Placement{Program: ledger.CellAudit}
		for _, call := range s.Compiles {
			p.Offsets = append(p.Offsets, call.FileOffset)
		}
		return []ledger.Placement{p}
	case ledger.GroupSignal:
		return append(entry(ledger.CellSignal, s.SetSignal), entry(ledger.CellPrompt, s.Prompt)...)
	case ledger.GroupCode:
		return entry(ledger.CodeFreed, s.CodeFreed)
	}
	return nil
}

// compiledByAudit says whether compiles are seen at their calls of PySys_Audit, as the function for them is passed by.
func compiledByAudit(s cpython.Sites) bool {
	passedBy := !s.Compile.Present() || s.CompileInlined || slices.Contains(s.Doubted, s.Compile.Symbol)
	return passedBy && len(s.Compiles) > 0
}

// ends places the program that sees coroutines end.
func ends(sites []cpython.EndSite) []ledger.Placement {
	if len(sites) == 0 {
		return nil
	}
	p := ledger.Placement{Program: ledger.CellResult}
	for _, e := range sites {
		p.Offsets = append(p.Offsets, e.FileOffset)
		p.Cookies = append(p.Cookies, uint64(e.Argument))
	}
	return []ledger.Placement{p}
}

// doubted returns the functions a group's probes are on that hardly anybody calls in this build.
func doubted(g ledger.Group, s cpython.Sites) (names []string) {
	for _, site := range sitesOf(g, s) {
		if slices.Contains(s.Doubted, site.Symbol) && !slices.Contains(names, site.Symbol) {
			names = append(names, site.Symbol)
		}
	}
	return names
}

// usual returns the sites that are hit in normal running, for the budget: not the exits that only fail.
func usual(g ledger.Group, s cpython.Sites) []machine.Site {
	if g != ledger.GroupStatement {
		return sitesOf(g, s)
	}
	sites := []machine.Site{s.EvalCode}
	for _, r := range s.EvalReturns {
		if r.Result != machine.Zero {
			sites = append(sites, r.Site)
		}
	}
	return sites
}

// sitesOf returns a group's sites, for people.
func sitesOf(g ledger.Group, s cpython.Sites) []machine.Site {
	switch g {
	case ledger.GroupNumPy:
		return []machine.Site{s.Track, s.Untrack}
	case ledger.GroupStatement:
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

// probe tells the ledger how to read the target's Python and places every group.
func (s *Session) probe(t *target) error {
	s.equip(t)
	if !s.options.NoStacks { // before the ledger is told that it is there
		if err := s.place(t, ledger.GroupCode); err != nil {
			return err
		}
	}
	if !s.learn(t) { // the interpreter has not started: the offsets that do not depend on it are there already
		if err := s.tellPython(t, 0); err != nil {
			return err
		}
	}
	if why := blind(t.python.sites); why != "" && t.late && !t.child && t.python.inputs != 0 {
		return fmt.Errorf("pid %d: %w", t.pid, &cpython.UnsupportedError{Version: t.python.binary.Version(), Reason: why + ": its cells cannot be seen"})
	}
	running := s.openRunning(t)
	if t.late { // who attaches is waiting, and the interpreter has a sys.path
		s.expectLibraries(t)
	}
	for _, i := range t.instruments {
		if err := i.place(); err != nil {
			return err
		}
	}
	for g := range ledger.Group(ledger.PythonGroups) {
		if g == ledger.GroupNumPy || s.budget.isShed(t.root, g) {
			continue
		}
		if g != ledger.GroupCode {
			if err := s.place(t, g); err != nil {
				return err
			}
		} else if t.python.groups[g] == nil { // stacks take longer, that is all
			continue
		}
		noteInPython(s, t, g)
	}
	s.expectLibraries(t)
	s.settleInstruments(t)
	s.relist(t)
	s.checkRunning(t, running)
	inlined := t.python.sites.CompileInlined && !compiledByAudit(t.python.sites)
	if inlined || len(placements(ledger.GroupCell, t.python.sites)) == 0 {
		s.unseen++
	}
	if inlined {
		s.problem("pid %d: this Python (%s) compiles without calling Py_CompileStringObject: its cells and experiments cannot be seen", t.pid, t.python.version())
	}
	return s.budget.limit(t.python.sites)
}

// blind says why cells of a build cannot be seen, "" if they can: nothing to see them begin or have their results, or nothing that
// passes it.
func blind(s cpython.Sites) string {
	if s.CompileInlined && !compiledByAudit(s) {
		return "it compiles without calling Py_CompileStringObject"
	}
	for _, g := range []ledger.Group{ledger.GroupCell, ledger.GroupResult} {
		if len(placements(g, s)) == 0 {
			return fmt.Sprintf("it has no place for the probes on %v", g)
		}
		if names := doubted(g, s); len(names) > 0 {
			return fmt.Sprintf("nothing calls %s, where the probes on %v would be", strings.Join(names, ", "), g)
		}
	}
	return ""
}

// placed is placements, unless this is a build for tests that breaks probes (broken.go).
var placed = placements

func (s *Session) place(t *target, g ledger.Group) error {
	c, err := placeInPython(s, t, g)
	if c != nil {
		t.python.groups[g] = c
	}
	return err
}

// placeInPython puts a group's probes into a target's interpreter. Nil if that has no place for them.
func placeInPython(h host, t *target, g ledger.Group) (io.Closer, error) {
	p := placed(g, t.python.sites)
	if len(p) == 0 {
		return nil, nil
	}
	c, err := h.probeFile(t, t.python.file, p)
	if err != nil {
		return nil, fmt.Errorf("pid %d: %w", t.pid, err)
	}
	if err := t.python.tookEffect(p); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("pid %d: %w", t.pid, err)
	}
	return c, nil
}

// errNoEffect says that the kernel takes probes on a file and does not put them in. It is so where a FUSE server passes its files on to another file
// system (FUSE_PASSTHROUGH, Linux 6.9): then what is mapped is the other file.
var errNoEffect = fmt.Errorf("%w: it does not put the probes into this process's interpreter, as on a FUSE file system that passes reads on", ledger.ErrNotSupported)

// tookEffect compares the first instruction that has a probe, as it is in memory, with that in the file.
func (p *python) tookEffect(placements []ledger.Placement) error {
	m := p.file.Mapping
	for _, one := range placements {
		for _, at := range one.Offsets {
			var now, before [1]byte
			if at < m.Offset || at-m.Offset >= m.End-m.Start {
				continue
			}
			if _, err := p.file.File.ReadAt(before[:], int64(at)); err != nil {
				return nil // nobody can say
			}
			if _, err := p.memory.ReadAt(now[:], int64(m.Start+at-m.Offset)); err != nil {
				return nil
			}
			if now == before {
				return errNoEffect
			}
			return nil
		}
	}
	return nil
}

// noteInPython records for the certificate where a group's probes are in a target's interpreter, and what a missing one means.
func noteInPython(h host, t *target, g ledger.Group) {
	sites := t.python.sites
	if len(placements(g, sites)) == 0 {
		h.problem("pid %d: this Python (%s) has no place for the probes on %v", t.pid, t.python.version(), g)
		return
	}
	if names := doubted(g, sites); len(names) > 0 && (g != ledger.GroupCell || !sites.CompileInlined) {
		h.countUnseen()
		h.problem("pid %d: in this Python (%s) nothing calls %s: the probes on %v may not see what they are for", t.pid, t.python.version(),
			strings.Join(names, ", "), g)
	}
	h.noteUse(g, describeSites(sitesOf(g, sites)))
}

// noteUse adds where a group's probes are, once for each place.
func (s *Session) noteUse(g ledger.Group, where string) {
	switch p := &s.probes[g]; {
	case p.Probe == "":
		*p = event.ProbeUse{Probe: g.String(), Site: where}
	case !strings.Contains(p.Site, where):
		p.Site += "; " + where
	}
}

// describeSites names the places of a group: "PyEval_EvalCode+0, +237".
func describeSites(sites []machine.Site) string {
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

// meterSources says for each meter which probe serves it on this kernel.
func (s *Session) meterSources() []event.MeterSource {
	sources := MeterSources(s.ledger.Capabilities(), s.threads())
	for _, m := range RequestedSources() {
		if m.Meter == event.Heap && s.options.Heap {
			sources = append(sources, m)
		}
	}
	return sources
}

// threads counts the targets' threads.
func (s *Session) threads() int {
	n := 0
	for _, t := range s.targets {
		if st, err := s.fs.Status(t.pid); err == nil {
			n += st.Threads
		}
	}
	return max(n, 1)
}

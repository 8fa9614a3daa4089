package main

import (
	"sync/atomic"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/report/text"
	"ipytracer/tracer/companion"
)

// asked answers what notebooks ask of a process's objects: what is there by name, what stays behind. It takes a
// session's events in for an audit, of which nobody can know in time whether it will be wanted.
type asked struct {
	session *session
	reports *attribution.Tracker
	auditor atomic.Pointer[attribution.Auditor] // nil where it was given up
	shared  bool                                // somebody else takes the events in
	cells   int
}

// How long an audit is kept ready while no notebook has a line: what it keeps takes memory, some KiB a cell and a
// hundred bytes a block.
const (
	cellsUnasked  = 100
	blocksUnasked = 100_000
)

// add takes the next event in.
func (a *asked) add(e event.Event) {
	auditor := a.auditor.Load()
	if auditor == nil || a.shared {
		return
	}
	auditor.Add(e)
	if b, ok := e.(*event.Boundary); ok && b.Kind == event.CellOpen {
		a.cells++
		if (a.cells > cellsUnasked || auditor.Size() > blocksUnasked) && !a.session.hub.HasLine() {
			a.giveUp()
		}
	}
}

// giveUp lets the audit go, on any goroutine: as a session ends, what it keeps is in the way of what is looked at then.
func (a *asked) giveUp() {
	if !a.shared {
		a.auditor.Store(nil)
	}
}

// finished lets the cells go that are over: nobody asks the audit for them.
func (a *asked) finished() {
	if auditor := a.auditor.Load(); auditor != nil && !a.shared {
		auditor.Finished()
	}
}

// looker is what the companion looks by.
type looker struct{ *asked }

var _ companion.Looker = looker{}

// FindVariables begins a look at what a process has by name.
func (a looker) FindVariables(pid int, watch []event.Piece) bool {
	return a.session.running != nil && a.session.running.Looks.FindVariablesOf(pid, watch)
}

// ToFree says what to type to free what a look has found, and the largest objects that go with each.
func (a looker) ToFree(e *event.Looked) ([]model.Freeing, [][]event.Piece) {
	return toFree(attribution.WithCells(a.reports, e.Variables))
}

func toFree(e *event.Variables) (free []model.Freeing, pieces [][]event.Piece) {
	for _, p := range attribution.Promises(e) {
		free, pieces = append(free, p.Freeing), append(pieces, p.Pieces)
	}
	return free, pieces
}

// FindHolders begins a look at who holds what in a process.
func (a looker) FindHolders(pid int) bool {
	if a.session.running == nil {
		return false
	}
	var blocks []event.Block
	if auditor := a.auditor.Load(); auditor != nil { // else it was given up since: the look says nothing, and comes to an end
		blocks = auditor.Blocks(pid)
	}
	return a.session.running.Looks.FindHoldersOf(pid, blocks)
}

// Named says what a look has found by name.
func (a looker) Named(e *event.Variables) ([]model.Variable, model.Names) {
	all, names := a.reports.Named(e)
	if a.session.options.NoSource {
		all = report.VariablesWithoutSource(all)
	}
	return all, names
}

// Audited says what stays behind in a process.
func (a looker) Audited(pid int, found []*event.Holders) *model.Audit {
	auditor := a.auditor.Load()
	if auditor == nil {
		return nil
	}
	out := auditor.AuditOne(pid, found, leastOfPage)
	if a.session.options.NoSource {
		out = report.AuditWithoutSource(out)
	}
	return out
}

// WhyNoAudit says why nothing can be audited.
func (a looker) WhyNoAudit() string {
	if a.auditor.Load() != nil {
		return ""
	}
	return "no notebook had loaded ipytracer for a long time, so this session keeps no audit any more: attach anew, or audit from outside ('sudo tracer audit PID')"
}

// spoken are the words of reports, for what the companion tells.
func spoken() companion.Words {
	return companion.Words{Shape: text.Shape, Title: text.VerdictTitle, Runs: runsOf, NotJudged: text.NotJudged, AllClear: text.AllClear}
}

func runsOf(v *model.Verdict) string {
	if len(v.Executions) == 0 {
		return ""
	}
	return text.VerdictRuns(v)
}

// lookedAt hands on what a look has found, which is no part of the session. false: it is another event.
func (s *session) lookedAt(e event.Event) bool {
	found, ok := e.(*event.Looked)
	if ok && s.hub != nil {
		s.lull() // what is made of it is made of everything that has come
		s.hub.Looked(found)
	}
	return ok
}

// lull takes in that nothing more is to be read for now. It goes the way of all events, so that a recording has it
// where the session had it: what the two say is the same, because nothing else than events makes a difference.
func (s *session) lull() {
	if s.unsettled {
		s.take(&event.Lull{})
	}
}

// take takes one event in.
func (s *session) take(e event.Event) {
	switch e.(type) {
	case *event.Boundary:
		s.unsettled = true
	case *event.Lull:
		s.unsettled = false
	}
	s.record(e)
	s.tracker.Add(e)
	if s.hub != nil {
		s.hub.Note(e)
		s.asked.add(e)
	}
}

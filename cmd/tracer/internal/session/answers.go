package session

import (
	"strings"
	"sync/atomic"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/advice"
	"ipytracer/internal/companion"
	"ipytracer/internal/freeing"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/tracer"
)

// answers answers the questions of notebooks about a process's objects: its names, and the memory that stays behind.
// The session is audited from its beginning, because an audit cannot begin when a notebook asks.
type answers struct {
	hub      *companion.Hub
	running  func() *tracer.Session // returns nil before the session runs
	noSource bool
	reports  *attribution.Tracker
	findings atomic.Pointer[attribution.Findings] // of the audit; nil once that was given up
	needed   bool                                 // the report needs the audit, too
	cells    int                                  // opened so far
}

// Bounds on an audit while no notebook has a link. It takes about a hundred bytes for each block.
const (
	cellsUnasked  = 100
	blocksUnasked = 100_000
)

// note gives up the audit once it exceeds the bounds while no notebook has a link.
func (a *answers) note(e event.Event) {
	findings := a.findings.Load()
	if findings == nil || a.needed {
		return
	}
	if b, ok := e.(*event.Boundary); !ok || b.Kind != event.CellOpen {
		return
	}
	a.cells++
	isLarge := a.cells > cellsUnasked || findings.Size() > blocksUnasked
	if isLarge && !a.hub.HasLine() {
		a.giveUp()
	}
}

// giveUp drops the audit unless the report needs it. At a session's end, that makes room for the last look. Any
// goroutine may call it.
func (a *answers) giveUp() {
	if !a.needed {
		a.drop()
	}
}

func (a *answers) drop() {
	a.findings.Store(nil)
	a.reports.EndAudit()
}

// looker makes the looks that notebooks ask for.
type looker struct{ *answers }

var _ companion.Looker = looker{}

// FindVariables begins a look at the names of a process.
func (a looker) FindVariables(pid int, watch []event.Piece) bool {
	running := a.running()
	return running != nil && running.Looks.FindVariablesOf(pid, watch)
}

// ToFree returns the code that frees memory found by a look, and the largest objects that go with each entry.
func (a looker) ToFree(e *event.Looked) ([]model.Freeing, [][]event.Piece) {
	return ToFree(attribution.WithCells(a.reports, e.Variables))
}

// ToFree returns the code that frees the memory of objects, and the largest objects that go with each entry.
func ToFree(e *event.Variables) (entries []model.Freeing, pieces [][]event.Piece) {
	for _, p := range freeing.Promises(e) {
		entries, pieces = append(entries, p.Freeing), append(pieces, p.Pieces)
	}
	return entries, pieces
}

// FindHolders begins a look at the holders of a process's blocks.
func (a looker) FindHolders(pid int) bool {
	running := a.running()
	if running == nil {
		return false
	}
	var blocks []event.Block
	// Without an audit there are no blocks: the look finds nothing, and ends.
	if findings := a.findings.Load(); findings != nil {
		blocks = findings.Blocks(pid)
	}
	return running.Looks.FindHoldersOf(pid, blocks)
}

// Named returns the names that a look has found.
func (a looker) Named(e *event.Variables) ([]model.Variable, model.Names) {
	all, names := a.reports.Named(e)
	if a.noSource {
		all = report.VariablesWithoutSource(all)
	}
	return all, names
}

// Audited returns the audit of a process, nil if it was given up.
func (a looker) Audited(pid int, found []*event.Holders) *model.Audit {
	findings := a.findings.Load()
	if findings == nil {
		return nil
	}
	out := findings.AuditOne(pid, found, formats.LeastLeak)
	if a.noSource {
		out = report.AuditWithoutSource(out)
	}
	return out
}

// Advised reads the session so far, and returns a function that makes the advice for a process, as text. The session
// waits while Advised reads, so it reads adviceRoom sites at most.
func (a looker) Advised(pid int, found *event.Variables) func() string {
	read := advice.Read(a.reports.SoFar(found), advice.Options{PID: pid, Room: adviceRoom})
	return func() string {
		out := read.Advice()
		if a.noSource {
			out = report.AdviceWithoutSource(out)
		}
		var b strings.Builder
		_ = sheet.Advice(out, sheet.Options{}).Text(&b, doc.Size{Width: adviceWidth}) // a builder takes everything
		return b.String()
	}
}

// Sizes of advice in a notebook.
const (
	adviceWidth = 100     // columns
	adviceRoom  = 1 << 18 // sites that are read
)

// WhyNoAudit returns the reason why there is no audit, "" if there is one.
func (a looker) WhyNoAudit() string {
	if a.findings.Load() != nil {
		return ""
	}
	return "no notebook had loaded ipytracer for a long time, so this session keeps no audit any more: attach anew, " +
		"or audit from outside ('sudo tracer audit PID')"
}

// reportWords returns the functions that word a report, for the companion's answers.
func reportWords() companion.Words {
	return companion.Words{
		Shape: text.Shape, Title: words.VerdictTitle, Runs: cellsOf, NotJudged: sheet.NotJudged,
		AllClear: sheet.AllClear,
	}
}

func cellsOf(v *model.Verdict) string {
	if len(v.Executions) == 0 {
		return ""
	}
	return words.VerdictCells(v)
}

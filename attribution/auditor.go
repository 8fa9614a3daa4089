package attribution

import (
	"ipytracer/attribution/internal/audit"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Auditor finds memory that stays behind, in the events of a session. It keeps each live block with the cell and the
// statement that allocated it. Of windows it keeps only their figures, so a session of millions of changes fits into
// memory.
type Auditor struct {
	*Findings
}

// NewAuditor returns an Auditor that has seen nothing.
func NewAuditor() *Auditor {
	s := windows.NewState()
	a := audit.New(s)
	c := newCore(s, a, noChart{})
	return &Auditor{&Findings{core: c, audit: a}}
}

// Add takes in the next event.
func (a *Auditor) Add(e event.Event) { a.core.sequence.add(e) }

// Flush settles the events taken in so far, see [Tracker.Flush].
func (a *Auditor) Flush() { a.core.sequence.flush() }

// Finished returns the cells that closed since the last call, see [Tracker.Finished].
func (a *Auditor) Finished() []model.Window { return a.core.finished() }

// Findings reports the memory that stays behind, of the events that a [Tracker] or an [Auditor] has taken in.
type Findings struct {
	core  *core
	audit *audit.Audit
}

// Audit returns the verdicts on memory that stays behind. Each verdict is on at least a given number of bytes. Audit
// can be called at any time.
func (f *Findings) Audit(least int64) *model.Audit {
	f.core.sequence.flush()
	f.core.queue.handOnAll()
	return f.audit.Judge(f.core.Rows, least)
}

// Size returns the number of live blocks that the audit keeps.
func (f *Findings) Size() int { return f.audit.Count }

// Blocks returns the live blocks of a process for which holders can be searched, by address: the input of the search
// before [Findings.AuditOne].
func (f *Findings) Blocks(pid int) []event.Block {
	f.core.sequence.flush()
	return f.audit.Blocks(int32(pid))
}

// AuditOne returns the verdicts on one process while the session goes on, from the events taken in so far. found is the
// result of a search of its objects for the holders of [Findings.Blocks]. Memory that a running cell allocated, or that
// only the calls of running cells hold, is reported without a verdict. Findings do not keep the result.
func (f *Findings) AuditOne(pid int, found []*event.Holders, least int64) *model.Audit {
	f.core.sequence.flush()
	return f.audit.JudgeOne(f.core.Rows, int32(pid), found, least)
}

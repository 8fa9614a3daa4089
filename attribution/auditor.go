package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Auditor finds memory that stays behind, in the events of a session. It keeps every live block with the cell and the
// statement that made it, and nothing of the windows but their figures: a session of millions of changes fits.
type Auditor struct {
	*core
	audit *audit
}

// NewAuditor returns an Auditor that has seen nothing.
func NewAuditor() *Auditor {
	c := newCore()
	born := newBirths(c.processes, c.table)
	a := &audit{
		processes: c.processes, table: c.table, stacks: c.stacks,
		finds:    &finds{processes: c.processes, stacks: c.stacks},
		openCell: c.activity.cell,
		births:   born, departures: newDepartures(), torch: newTorchCaches(born),
		live: map[int32]map[place]kept{}, ranges: map[int32]*ranges{}, holders: map[int32]*holders{},
		exited: map[int32]bool{}, blind: blinds{}, pools: map[int32]string{},
	}
	c.follow(a, noChart{})
	return &Auditor{c, a}
}

// Add takes the next event in.
func (a *Auditor) Add(e event.Event) { a.intake.add(e) }

// Flush settles what has come so far, see [Tracker.Flush].
func (a *Auditor) Flush() { a.intake.flush() }

// Finished returns the cells that closed since the last call, see [Tracker.Finished].
func (a *Auditor) Finished() []model.Window { return a.finished() }

// Audit says what stays behind. A verdict has at least so many bytes. It can be called at any time.
func (a *Auditor) Audit(least int64) *model.Audit {
	a.intake.flush()
	a.queue.handOnAll()
	return newJudge(a.core, a.audit, least).judgeAll()
}

// leastAsked is how many bytes a block has at least of which it is asked who holds it.
const leastAsked = 4 << 10

// Size is how many live blocks an Auditor keeps.
func (a *Auditor) Size() int { return a.audit.count }

// Blocks are the live blocks of a process of which can be asked who holds them, in the order of their addresses: those
// of [Auditor.AuditOne].
func (a *Auditor) Blocks(pid int) (all []event.Block) {
	a.Flush()
	for at, b := range a.audit.live[int32(pid)] {
		if at.meter.Facts().Asked && b.size >= leastAsked {
			all = append(all, event.Block{Address: at.address, Size: b.size})
		}
	}
	slices.SortFunc(all, func(a, b event.Block) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(b.Size, a.Size))
	})
	return slices.CompactFunc(all, func(a, b event.Block) bool { return a.Address == b.Address })
}

// AuditOne says what stays behind in one process while the session goes on, as far as it has been taken in: found is
// what a look at its objects has shown, after [Auditor.Blocks]. What a cell has made that runs still, and what only the
// calls of running cells hold, is not judged, and said to be so. Nothing of it stays in the Auditor.
func (a *Auditor) AuditOne(pid int, found []*event.Holders, least int64) *model.Audit {
	a.intake.flush()
	defer a.audit.ask(found)()
	j := newJudge(a.core, a.audit, least)
	j.only, j.asking = int32(pid), true
	out := j.judgeAll()
	out.Variables, out.Names, out.ToFree, out.Resident, out.GPUNotes = nil, nil, nil, nil, nil // they are of the end
	return out
}

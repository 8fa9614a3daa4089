package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Auditor finds memory that stays behind, in the events of a session. It keeps each live block with the cell and the
// statement that allocated it, and of the windows only their figures: a session of millions of changes fits.
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

// Add takes in the next event.
func (a *Auditor) Add(e event.Event) { a.intake.add(e) }

// Flush settles the events taken in so far, see [Tracker.Flush].
func (a *Auditor) Flush() { a.intake.flush() }

// Finished returns the cells that closed since the last call, see [Tracker.Finished].
func (a *Auditor) Finished() []model.Window { return a.finished() }

// Audit returns the verdicts on memory that stays behind, each on at least so many bytes. It can be called at any time.
func (a *Auditor) Audit(least int64) *model.Audit {
	a.intake.flush()
	a.queue.handOnAll()
	return newJudge(a.core, a.audit, least).judgeAll()
}

// leastAsked is the least size of a block, in bytes, for which holders are searched.
const leastAsked = 4 << 10

// Size returns the number of live blocks that an Auditor keeps.
func (a *Auditor) Size() int { return a.audit.count }

// Blocks returns the live blocks of a process for which holders can be searched, by address: the input of the search
// before [Auditor.AuditOne].
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

// AuditOne returns the verdicts on one process while the session goes on, from the events taken in so far. found is the
// result of a search of its objects for the holders of [Auditor.Blocks]. Memory that a running cell allocated, or that
// only the calls of running cells hold, is reported without a verdict. The Auditor keeps nothing of it.
func (a *Auditor) AuditOne(pid int, found []*event.Holders, least int64) *model.Audit {
	a.intake.flush()
	defer a.audit.ask(found)()
	j := newJudge(a.core, a.audit, least)
	j.only, j.asking = int32(pid), true
	out := j.judgeAll()
	out.Variables, out.Names, out.ToFree, out.Resident, out.GPUNotes = nil, nil, nil, nil, nil // they belong to the end
	return out
}

package attribution

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Findings reports the memory that stays behind, of the events that a [Tracker] or an [Auditor] has taken in.
type Findings struct {
	core  *core
	audit *audit
}

// newAudit returns an audit that has seen nothing.
func newAudit(s *windows.State) *audit {
	born := newBirths(s.Processes)
	return &audit{
		State: s, finds: &windows.FoundNames{State: s}, births: born, departures: newDepartures(),
		torch: newTorchCaches(born),
		live:  map[int32]map[place]kept{}, ranges: map[int32]*stacks.Ranges[maker]{}, holders: map[int32]*holders{},
		exited: map[int32]bool{}, blind: blinds{}, pools: map[int32]string{},
	}
}

// Audit returns the verdicts on memory that stays behind, each on at least so many bytes. It can be called at any time.
func (f *Findings) Audit(least int64) *model.Audit {
	f.core.intake.flush()
	f.core.queue.handOnAll()
	return newJudge(f.core.Rows, f.audit, least).judgeAll()
}

// leastAsked is the least size of a block, in bytes, for which holders are searched.
const leastAsked = 4 << 10

// Size returns the number of live blocks that the audit keeps.
func (f *Findings) Size() int { return f.audit.count }

// Blocks returns the live blocks of a process for which holders can be searched, by address: the input of the search
// before [Findings.AuditOne].
func (f *Findings) Blocks(pid int) (all []event.Block) {
	f.core.intake.flush()
	for at, b := range f.audit.live[int32(pid)] {
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
// result of a search of its objects for the holders of [Findings.Blocks]. Memory that a running cell allocated, or that
// only the calls of running cells hold, is reported without a verdict. Findings keep nothing of it.
func (f *Findings) AuditOne(pid int, found []*event.Holders, least int64) *model.Audit {
	f.core.intake.flush()
	defer f.audit.ask(found)()
	j := newJudge(f.core.Rows, f.audit, least)
	j.only, j.asking = int32(pid), true
	out := j.judgeAll()
	out.Variables, out.Names, out.ToFree, out.Resident, out.GPUNotes = nil, nil, nil, nil, nil // they belong to the end
	return out
}

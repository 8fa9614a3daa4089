package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// Audit says what stays behind. A verdict has at least so many bytes. It can be called at any time.
func (a *Auditor) Audit(least int64) *model.Audit {
	a.tracker.Flush()
	a.tracker.handOnAll()
	return newJudge(a.tracker, least).judgeAll()
}

func newJudge(t *Tracker, least int64) *judge {
	return &judge{
		t: t, audit: t.audit, least: event.Bytes(least), verdicts: map[verdictKey]*found{},
		held: map[heldBy]*model.Held{},
		runs: map[runKey][]*window{}, shown: map[int32]map[int]*window{}, unknown: map[int32]event.Bytes{},
		seen:  map[int32]event.Bytes{},
		views: newViews(),
	}
}

func (j *judge) judgeAll() *model.Audit {
	for _, w := range j.t.table.staying {
		if w.kind == kindCell && j.about(w.process.info.PID) && !(j.asking && w.isOpen) {
			key := runKey{w.process.info.PID, j.t.texts.keyOf(w)}
			j.runs[key] = append(j.runs[key], w)
			if j.shown[key.pid] == nil {
				j.shown[key.pid] = map[int]*window{}
			}
			j.shown[key.pid][w.count] = w
		}
	}
	j.survivors()
	j.otherViews()
	j.passed()
	j.fragmented()
	j.children()
	return j.report()
}

// leastAsked is how many bytes a block has at least of which it is asked who holds it.
const leastAsked = 4 << 10

// Size is how many live blocks an Auditor keeps.
func (a *Auditor) Size() int { return a.tracker.audit.count }

// Blocks are the live blocks of a process of which can be asked who holds them, in the order of their addresses: those
// of [Auditor.AuditOne].
func (a *Auditor) Blocks(pid int) (all []event.Block) {
	a.Flush()
	for at, b := range a.tracker.audit.live[int32(pid)] {
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
	t := a.tracker
	t.Flush()
	holdersBefore, poolsBefore := t.audit.holders, t.audit.pools
	defer func() { t.audit.holders, t.audit.pools = holdersBefore, poolsBefore }()
	t.audit.holders, t.audit.pools = map[int32]*holders{}, map[int32]string{}
	for _, e := range found {
		t.audit.heldBy(e)
	}
	j := newJudge(t, least)
	j.only, j.asking = int32(pid), true
	out := j.judgeAll()
	out.Variables, out.Names, out.ToFree, out.Resident, out.GPUNotes = nil, nil, nil, nil, nil // they are of the end
	return out
}

// isOfRunning says of a block whether a cell that runs has made it, or only its calls hold it.
func (j *judge) isOfRunning(b kept, holder event.Holder) bool {
	return j.asking && (holder.Running || b.birth != nil && b.birth.cell != nil && b.birth.cell.isOpen)
}

package audit

import (
	"slices"
	"strings"

	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// unjudged lists what this audit did not see: a reader must not take its silence for an all-clear.
func (j *judge) unjudged() {
	if j.running > 0 {
		n := model.NotJudged{Reason: model.CellRuns, PID: int(j.only), Bytes: bytesOf(j.running)}
		n.Why, n.Advice = words.CellRuns()
		j.addNotJudged(n)
	}
	j.steppedDown()
	j.lost()
	for _, p := range j.t.Processes.Order {
		if p.Began != 0 && j.isJudgedProcess(p.Info.PID) && (p.Session != nil || j.only != 0) {
			j.unread(p)
			notReached(j, p)
			j.noBlocks(p)
			j.madeBefore(p)
			j.notExplained(p)
		}
	}
	if f := j.t.Session.Finish; f != nil {
		for _, text := range slices.Concat(f.Problems, f.Unnamed) {
			if strings.HasPrefix(text, "gpu.N.unattributed") {
				continue // that meter is not judged
			}
			n := model.NotJudged{Reason: model.TracingProblem}
			n.Why, n.Advice = words.TracingProblem(text)
			j.addNotJudged(n)
		}
	}
}

// addNotJudged records memory that was not judged.
func (j *judge) addNotJudged(n model.NotJudged) {
	if len(j.notJudged) < stacks.MaxListed {
		j.notJudged = append(j.notJudged, n)
	}
}

func bytesOf(n event.Bytes) *int64 {
	out := int64(n)
	return &out
}

// steppedDown lists the meters whose blocks were not all streamed, because of samples or pauses.
func (j *judge) steppedDown() {
	if j.audit.sampled {
		n := model.NotJudged{Reason: model.SteppedDown, Bytes: bytesOf(0)}
		n.Why, n.Advice = words.SampledBlocks()
		j.addNotJudged(n)
	}
	// Innermost first: arrays are in blocks, blocks in mapped memory.
	for _, f := range slices.SortedStableFunc(slices.Values(event.Meters()),
		func(a, b event.Facts) int { return len(b.Within) - len(a.Within) }) {
		b := j.audit.pauses[f.Meter]
		if b == nil || b.times == 0 {
			continue
		}
		sum := b.sum
		if b.since != 0 {
			sum += max(j.t.Session.Last-b.since, 0)
		}
		n := model.NotJudged{Reason: model.SteppedDown, Meter: f.String()}
		n.Why, n.Advice = words.SteppedDown(int64(b.times), int64(sum))
		j.addNotJudged(n)
	}
}

// lost lists the records that were lost on the way to the audit.
func (j *judge) lost() {
	for _, r := range j.t.Processes.Trees {
		if !r.Stream.Complete(0, r.Stream.Made) {
			n := model.NotJudged{Reason: model.ChangesLost}
			n.Why, n.Advice = words.ChangesLost()
			j.addNotJudged(n)
			break
		}
	}
	if f := j.t.Session.Finish; f != nil {
		for _, l := range f.Lost {
			if l.IsLoss() && l.Reason != event.LostChanges {
				j.addNotJudged(notJudgedFor(l))
			}
		}
	}
	if j.audit.leftOut() > 0 {
		n := model.NotJudged{Reason: model.TooMany}
		n.Why, n.Advice = words.BlocksLeftOut(j.audit.leftOut())
		j.addNotJudged(n)
	}
}

// notJudgedFor returns what an audit could not judge because of a loss. If only lines were lost, no memory is missing,
// only the code that allocated it.
func notJudgedFor(l event.Loss) model.NotJudged {
	n := model.NotJudged{Reason: model.RecordsLost}
	n.Why, n.Advice = words.RecordsLost(l.Reason, l.Count)
	if l.IsOfLines() {
		n.Bytes = bytesOf(0)
	}
	return n
}

// unread lists the live blocks of a process with unknown holders.
func (j *judge) unread(p *windows.Process) {
	pid, h, unknown := p.Info.PID, j.audit.holders[p.Info.PID], j.unknown[p.Info.PID]
	n := model.NotJudged{Reason: model.ObjectsUnread, PID: int(pid), Bytes: bytesOf(unknown)}
	inPart, ended := h != nil && !h.complete, p.Ended && h == nil
	switch {
	case inPart:
		n.Bytes = nil
	case unknown == 0:
		return
	case ended:
		n.Reason = model.ProcessEnded
	}
	n.Why, n.Advice = words.ObjectsUnread(inPart, ended)
	j.addNotJudged(n)
}

// notReached lists memory of C++ objects to which no Python object leads. C++ may still use it, so only its growth is
// judged.
func notReached(j *judge, p *windows.Process) {
	for _, f := range event.Meters() {
		held := j.held[heldBy{p.Info.PID, f.Meter, event.HeldByNone, ""}]
		if held == nil || !f.Inside || event.Bytes(held.Bytes) < j.least {
			continue
		}
		n := model.NotJudged{Reason: model.ObjectsUnread, Meter: f.String(), PID: int(p.Info.PID),
			Bytes: bytesOf(event.Bytes(held.Bytes))}
		n.Why, n.Advice = words.HeldInside()
		j.addNotJudged(n)
	}
}

// noBlocks lists the meters of blocks whose probes could not be placed.
func (j *judge) noBlocks(p *windows.Process) {
	if j.t.Session.Start == nil || p.Info.Python == "" {
		return
	}
	for _, s := range j.t.Session.Start.Meters {
		if s.Absent && s.Meter.Facts().Owned && !windows.IsActive(s.Meter) {
			n := model.NotJudged{Reason: model.NoBlocks, Meter: s.Meter.String(), PID: int(p.Info.PID)}
			n.Why, n.Advice = words.NoBlocks(s.Source)
			j.addNotJudged(n)
		}
	}
}

// madeBefore lists the memory that a process had when the audit began. Only its arrays and tensors are judged, by their
// holders.
func (j *judge) madeBefore(p *windows.Process) {
	n := model.NotJudged{Reason: model.MadeBefore, Meter: event.Resident.String(), PID: int(p.Info.PID)}
	isEnough := true
	if p.Session != nil { // the amount is not known for a child
		had := j.t.Table.Whole(p.Session).Own.Of(event.Resident).Start - j.seen[p.Info.PID]
		n.Bytes, isEnough = bytesOf(had), had >= j.least
	}
	if p.Info.Late && !p.Ended && isEnough {
		n.Why, n.Advice = words.MadeBefore()
		j.addNotJudged(n)
	}
}

// notExplained lists the growth of resident memory beyond the growth of the meters of blocks.
func (j *judge) notExplained(p *windows.Process) {
	if p.Ended {
		return
	}
	pid := p.Info.PID
	grown := j.t.Processes.OwnValue(p, event.Resident) // right for a child, which began with nothing
	if p.Session != nil {
		own := j.t.Table.Whole(p.Session).Own.Of(event.Resident)
		grown = own.End - own.Start
	}
	meters := map[event.Meter]event.Bytes{}
	j.audit.each(pid, func(at place, b block) { meters[at.meter] += b.size })
	innermost := event.Bytes(0)
	for m, sum := range meters {
		if _, _, device := m.Device(); !device && !m.Encloses() {
			innermost += sum
		}
	}
	grown -= max(innermost, meters[event.Heap])
	for _, key := range j.order {
		if key.meter == event.Mapped && key.pid == pid {
			grown -= j.verdicts[key].portion.bytes
		}
	}
	if grown >= j.least {
		n := model.NotJudged{Reason: model.NotExplained, Meter: event.Resident.String(), PID: int(pid),
			Bytes: bytesOf(grown)}
		n.Why, n.Advice = words.NotExplained()
		j.addNotJudged(n)
	}
}

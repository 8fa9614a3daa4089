package attribution

import (
	"fmt"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
	"ipytracer/report"
)

// blind is how long a meter's blocks were not told of, and how often that began.
type blind struct {
	times int
	since event.Nanoseconds // 0: they are told of
	sum   event.Nanoseconds
}

// blindTo follows which meters are stepped down. An empty text is NumPy's probes.
func (a *audit) blindTo(b *event.Boundary) {
	text := b.Text
	if text == event.ForeignArrays { // for as long as the other probes take
		text = ""
	}
	switch text {
	case "", event.TensorStacks, event.HeapStacks, event.MappedStacks:
	default:
		return // it makes no block unknown
	}
	one := a.blind[text]
	if one == nil {
		one = &blind{}
		a.blind[text] = one
	}
	switch {
	case b.Kind == event.MeterShed && one.since == 0:
		one.times++
		one.since = b.Time
	case b.Kind == event.MeterBack && one.since != 0:
		one.sum += max(b.Time-one.since, 0)
		one.since = 0
	}
}

// blindMeters are the meters that a stepped down group serves.
var blindMeters = []struct{ text, meter string }{
	{"", event.NumPy.String()}, {event.TensorStacks, "gpu.N.active"}, {event.HeapStacks, event.Heap.String()}, {event.MappedStacks, event.Mapped.String()},
}

// unjudged says what this audit did not see, so that nobody takes its silence for an all-clear.
func (j *judge) unjudged() {
	j.steppedDown()
	j.lost()
	for _, p := range j.t.order {
		if p.began != 0 && p.session != nil {
			j.unread(p)
			j.noBlocks(p)
			j.before(p)
			j.notExplained(p)
		}
	}
	if f := j.t.finish; f != nil {
		for _, text := range f.Problems {
			if strings.HasPrefix(text, "gpu.N.unattributed") {
				continue // nothing is judged of that meter
			}
			j.cannot(model.NotJudged{Reason: model.TracingProblem, Why: bounded(text, 300), Advice: "'sudo tracer doctor' says what this machine allows"})
		}
	}
}

func (j *judge) cannot(n model.NotJudged) {
	if len(j.notJudged) < maxListed {
		j.notJudged = append(j.notJudged, n)
	}
}

func bytesOf(n event.Bytes) *int64 {
	out := int64(n)
	return &out
}

func (j *judge) steppedDown() {
	for _, m := range blindMeters {
		b := j.audit.blind[m.text]
		if b == nil || b.times == 0 {
			continue
		}
		sum := b.sum
		if b.since != 0 {
			sum += max(j.t.last-b.since, 0)
		}
		n := model.NotJudged{
			Reason: model.SteppedDown, Meter: m.meter, Advice: "--budget off looks all the time; a larger --budget, for longer",
			Why: fmt.Sprintf("its probes were stepped down %s, for %s in all, to keep the overhead budget: what was made then is only known where an object was found that has it",
				times(int64(b.times)), report.FormatDuration(int64(sum))),
		}
		j.cannot(n)
	}
}

// lost is what got lost on the way here.
func (j *judge) lost() {
	for _, r := range j.t.roots {
		if !r.stream.complete(0, r.stream.made) {
			j.cannot(model.NotJudged{Reason: model.ChangesLost, Why: "changes were lost: some blocks are not known, or seem to be there still", Advice: "a larger --ring loses none"})
			break
		}
	}
	if f := j.t.finish; f != nil {
		for _, l := range f.Lost {
			if l.IsLoss() && l.Reason != event.LostChanges {
				j.cannot(notJudgedFor(l))
			}
		}
	}
	if j.audit.dropped > 0 {
		j.cannot(model.NotJudged{Reason: model.TooMany, Why: fmt.Sprintf("%d blocks found no room in this audit", j.audit.dropped), Advice: "audit a shorter part of the session"})
	}
}

// notJudgedFor says what an audit does not know for a loss. Where only lines are missing it knows all memory, and less of where it
// was made.
func notJudgedFor(l event.Loss) model.NotJudged {
	n := model.NotJudged{Reason: model.RecordsLost, Why: fmt.Sprintf("%s (%s)", l.Reason, count(l.Count)), Advice: "audit a shorter part of the session, or one with less going on at a time"}
	if l.IsOfLines() {
		n.Bytes = bytesOf(0)
	}
	return n
}

// unread: nobody could say who holds the blocks that are left.
func (j *judge) unread(p *process) {
	pid, h, unknown := p.info.PID, j.audit.holders[p.info.PID], j.unknown[p.info.PID]
	n := model.NotJudged{Reason: model.ObjectsUnread, PID: int(pid), Bytes: bytesOf(unknown), Advice: "audit it while it runs: 'sudo tracer audit PID', or 'sudo tracer attach PID --record FILE' and end that first"}
	switch {
	case h != nil && !h.complete:
		n.Why = "not every object was looked at: who holds a block is not always known"
		n.Advice = "audit again, when the machine has less to do"
		n.Bytes = nil
	case unknown == 0:
		return
	case p.ended && h == nil:
		n.Reason, n.Why = model.ProcessEnded, "the process had ended: what held it could not be read"
	default:
		n.Why = "what holds it is not known"
	}
	j.cannot(n)
}

// noBlocks: a probe that would tell of blocks could not be placed.
func (j *judge) noBlocks(p *process) {
	if j.t.start == nil || p.info.Python == "" {
		return
	}
	for _, s := range j.t.start.Meters {
		if s.Absent && asked(s.Meter) && !isActive(s.Meter) {
			j.cannot(model.NotJudged{Reason: model.NoBlocks, Meter: s.Meter.String(), PID: int(p.info.PID), Why: "no probe tells of its blocks here: " + s.Source, Advice: "'sudo tracer doctor' says why"})
		}
	}
}

// before is what the process had when the audit began. Of that only arrays and tensors are judged, by what holds them.
func (j *judge) before(p *process) {
	had := j.t.whole(p.session).own.of(event.Resident).start - j.seen[p.info.PID]
	if p.info.Late && !p.ended && had >= j.least {
		j.cannot(model.NotJudged{
			Reason: model.MadeBefore, Meter: event.Resident.String(), PID: int(p.info.PID), Bytes: bytesOf(had),
			Why:    "it was there when the audit began: who made it is not known, and of Python's other objects nothing",
			Advice: "'sudo tracer run --record FILE -- COMMAND' sees a process from its first instruction",
		})
	}
}

// notExplained is by how much resident memory grew beyond what the meters of blocks say.
func (j *judge) notExplained(p *process) {
	if p.ended {
		return
	}
	pid := p.info.PID
	own := j.t.whole(p.session).own.of(event.Resident)
	grown := own.end - own.start
	meters := map[event.Meter]event.Bytes{}
	j.audit.each(pid, func(at place, b kept) { meters[at.meter] += b.size })
	arrays := event.Bytes(0)
	for m, sum := range meters {
		if _, _, device := m.Device(); !device && m != event.Mapped && m != event.Heap {
			arrays += sum
		}
	}
	grown -= max(arrays, meters[event.Heap])
	for _, key := range j.order {
		if key.meter == event.Mapped && key.pid == pid {
			grown -= j.verdicts[key].portion.bytes
		}
	}
	if grown >= j.least {
		j.cannot(model.NotJudged{
			Reason: model.NotExplained, Meter: event.Resident.String(), PID: int(pid), Bytes: bytesOf(grown),
			Why:    "resident memory grew by this more than the arrays and tensors that are left: libraries, Python's other objects, what malloc keeps",
			Advice: "the list of live variables names the large ones; --heap tells who called malloc",
		})
	}
}

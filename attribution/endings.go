package attribution

import (
	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// dying records the cell and the statement that a process was running when it ended.
func (p *process) dying(b *event.Boundary) {
	most := func(m event.Meter) event.Bytes { return max(b.Value[m], b.High[m]) }
	p.last = last{resident: most(event.Resident), mapped: most(event.Mapped)}
	if n := len(p.open); n > 0 {
		w := p.open[n-1]
		p.last.cell = w
		if s := w.statement; s != nil {
			w, p.last.statement = s, s
		}
		p.last.id, p.last.line = w.id, w.line
	}
}

// noteOf returns the cause of a process's end as the note of the statement in which it ended; nil for all other
// windows. The statement may be in the archive by the time the cause is known.
func (l *last) noteOf(w *window) *note {
	if l.ending == nil || l.statement == nil || w.kind != kindStatement || w.id != l.id {
		return nil
	}
	return howKilled(l.ending)
}

// endingOf returns how a process ended, for the report; nil if that was not reported.
func endingOf(p *process) *model.Ending {
	e := p.last.ending
	if e == nil {
		return nil
	}
	out := &model.Ending{
		OutOfMemory: e.OutOfMemory, Likely: e.Likely, Resident: int64(p.last.resident), Mapped: int64(p.last.mapped),
	}
	if status := unix.WaitStatus(e.Status); status.Signaled() {
		if out.Signal = unix.SignalName(status.Signal()); out.Signal == "" {
			out.Signal = status.Signal().String()
		}
	} else {
		exit := status.ExitStatus()
		out.ExitStatus = &exit
	}
	if e.Limit.Kind != "" {
		hit := limitOf(e.Limit)
		out.Limit = &hit
	}
	if cell := p.last.cell; cell != nil {
		out.Window = p.last.id
		out.At = &model.Place{Execution: cell.execution, ExecutionCount: max(cell.count, 0), Line: p.last.line}
	}
	return out
}

func limitOf(l event.Limit) model.Limit {
	return model.Limit{Kind: string(l.Kind), Path: l.Path, Bytes: int64(l.Bytes), Used: int64(l.Used),
		Highest: int64(l.Highest)}
}

// howKilled returns the effect of a signal, nil if no signal ended the process.
func howKilled(e *event.Ending) *note {
	status := unix.WaitStatus(e.Status)
	switch {
	case e.OutOfMemory:
		return alone(words.OutOfMemory)
	case status.Signaled():
		return &note{Note: words.Note{Kind: words.EndedBy, Name: unix.SignalName(status.Signal())}}
	}
	return nil
}

// maxPool is the length of a pool's name, in characters and bytes.
const maxPool = 64

// waits records the pool in which a process waits for the next task.
func (ps *processes) waits(e *event.Holders) {
	if p := ps.byPID[e.PID]; p != nil && e.Pool != "" {
		p.pool, _ = ps.limits.keep(words.Bounded(e.Pool, maxPool), maxPool)
	}
}

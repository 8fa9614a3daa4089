package windows

import (
	"fmt"

	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Dying records the cell and the statement that a process was running when it ended.
func (p *Process) Dying(b *event.Boundary) {
	most := func(m event.Meter) event.Bytes { return max(b.Value[m], b.High[m]) }
	p.Last = last{resident: most(event.Resident), mapped: most(event.Mapped)}
	if n := len(p.Open); n > 0 {
		w := p.Open[n-1]
		p.Last.cell = w
		if s := w.Statement; s != nil {
			w, p.Last.Statement = s, s
		}
		p.Last.id, p.Last.line = w.ID, w.Line
	}
}

// noteOf returns the cause of a process's end as a note, if w is the statement in which the process ended; nil for all
// other windows. The statement may be in the archive by the time the cause is known.
func (l *last) noteOf(w *Window) *Note {
	if l.Ending == nil || l.Statement == nil || w.Kind != KindStatement || w.ID != l.id {
		return nil
	}
	return howKilled(l.Ending)
}

// EndingOf returns how a process ended, for the report; nil if that was not reported.
func EndingOf(p *Process) *model.Ending {
	e := p.Last.Ending
	if e == nil {
		return nil
	}
	out := &model.Ending{
		OutOfMemory: e.OutOfMemory, Likely: e.Likely, Resident: int64(p.Last.resident), Mapped: int64(p.Last.mapped),
	}
	status := waitStatus(e.Status)
	if out.Signal = status.signal(); out.Signal == "" {
		out.ExitStatus = new(status.exit())
	}
	if e.Limit.Kind != "" {
		hit := limitOf(e.Limit)
		out.Limit = &hit
	}
	if cell := p.Last.cell; cell != nil {
		out.Window = p.Last.id
		out.At = &model.Place{Execution: cell.Execution, ExecutionCount: max(cell.Count, 0), Line: p.Last.line}
	}
	return out
}

func limitOf(l event.Limit) model.Limit {
	return model.Limit{Kind: string(l.Kind), Path: l.Path, Bytes: int64(l.Bytes), Used: int64(l.Used),
		Highest: int64(l.Highest)}
}

// howKilled returns the note on a process that a signal ended, nil if no signal did.
func howKilled(e *event.Ending) *Note {
	if e.OutOfMemory {
		return NewNote(words.OutOfMemory)
	}
	if signal := waitStatus(e.Status).signal(); signal != "" {
		return &Note{Note: words.Note{Kind: words.EndedBy, Name: signal}}
	}
	return nil
}

// MaxPool is the length of a pool's name, in characters and bytes.
const MaxPool = 64

// SetPool records the name of the pool in which a process waits for its next task.
func (ps *Processes) SetPool(e *event.Holders) {
	if p := ps.ByPID[e.PID]; p != nil && e.Pool != "" {
		p.Pool, _ = ps.limits.Keep(words.Bounded(e.Pool, MaxPool), MaxPool)
	}
}

// waitStatus is how a process ended, in Linux's own form (wait(2)). A recording is also read where there is no Linux.
type waitStatus uint32

// signalNames are Linux's signals by number.
var signalNames = [...]string{
	1: "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
	"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
	"SIGSYS",
}

// signal returns the name of the signal that ended the process, "" if none did.
func (s waitStatus) signal() string {
	switch n := int(s & 0x7f); {
	case n == 0 || n == 0x7f: // it exited, or is only stopped
		return ""
	case n < len(signalNames):
		return signalNames[n]
	default:
		return fmt.Sprintf("signal %d", n)
	}
}

// exit returns the exit status of a process that no signal ended.
func (s waitStatus) exit() int { return int(s >> 8 & 0xff) }

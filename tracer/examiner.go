package tracer

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
)

// examiner finds out what targets are, reads what their Pythons are, and gives them their instruments.
type examiner struct {
	*certificate
	log          *slog.Logger
	options      *Options
	fs           process.FS
	ledger       *kernelHalf
	host         host // of the instruments
	counter      arrayCounter
	placer       *placer
	queue        *eventQueue
	targets      *targets
	interpreters *interpreters
	ahead        *modulesAhead
	analyses     *analyses
	cells        *cells
	natives      *natives
	limits       *limits
	overlooked   *overlooked
}

// look finds out whether a process has become a Python, and if so probes it.
func (e *examiner) look(t *target) {
	t.patience--
	t.looked = time.Now()
	p, err := e.interpreters.open(t.pid)
	if err != nil {
		if t.patience == 0 && t.child && !e.placer.hasEnded(t) { // it is named like one
			e.overlooked.found(t.pid)
			e.missesPython(t.pid,
				"pid %d is named like a Python and could not be looked into: %v: its cells are not seen", t.pid, err)
		}
		return
	}
	t.python = p
	t.patience = 0
	if err := e.probe(t); err != nil {
		if e.placer.hasEnded(t) { // it was over before it could be looked at
			p.close()
			t.python = nil
			return
		}
		e.overlooked.found(t.pid)
		e.missesPython(t.pid, "pid %d runs Python %v but could not be probed: %v", t.pid, p.binary.Version(), err)
		p.close()
		t.python = nil
		return
	}
	if p.unseen = p.ran(t); p.unseen > 0 {
		e.cells.past.read(t)
	}
	if t.announced || t.child { // it ran, unprobed, until it was found out
		e.late = append(e.late, fmt.Sprintf("%s in pid %d", strings.ToValidUTF8(p.file.Mapping.Path, "?"), t.pid))
	}
	t.announced = true
	e.overlooked.found(t.pid)
	e.queue.add(&event.Process{ProcessInfo: t.info()})
}

// ran is how many cells IPython has stored of a process that began within the session.
func (p *python) ran(t *target) int64 {
	if t.late || p.inputs == 0 {
		return 0
	}
	n, err := p.live.ListLen(p.inputs)
	if err != nil {
		return 0
	}
	return max(0, n-1)
}

// sayUnseen says of a process that ends, or becomes another program, that cells ran in it before its probes were in,
// and none since.
func (e *examiner) sayUnseen(t *target) {
	if t.python == nil || t.python.unseen == 0 {
		return
	}
	e.missesPython(t.pid,
		"pid %d: its cells up to In[%d] ran before its probes were in place, and none since: they are not seen",
		t.pid, t.python.unseen)
	t.python.unseen = 0
}

// learn reads what is only there once the interpreter, or IPython in it, has started.
func (e *examiner) learn(t *target) bool {
	p := t.python
	p.learning.begin()
	interpreter, err := p.live.Address()
	if err != nil {
		return false
	}
	news := !p.ready
	p.ready = true
	e.expectLibraries(t)
	if addr, n, err := p.live.InputList(); err == nil {
		if p.live.IsEmbedded() {
			addr, n = 0, 0
		}
		if news = news || p.inputs != addr; p.inputs == 0 && p.stored == 0 {
			p.stored = n
			if !t.late { // it began with one empty entry, and nothing that it has now had been there before
				p.stored = 1
			}
		}
		p.inputs, p.count = addr, n
		p.shown, _ = p.live.LastException()
		p.ipython, _ = p.live.IPythonVersion()
		p.front = p.live.Frontend()
		p.terminal = p.live.AtTerminal()
		p.ipython = strings.ToValidUTF8(p.ipython, "?")
		p.notebook = notebookOf(e.fs, t.pid, p.live)
	}
	if !news {
		return false
	}
	if err := e.tellPython(t, interpreter); err != nil {
		e.log.Warn("the Python offsets could not be written", "pid", t.pid, "error", err)
		return false
	}
	if t.announced { // the Start event has an older picture of it
		e.queue.add(&event.Process{ProcessInfo: t.info()})
	}
	return true
}

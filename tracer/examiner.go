package tracer

import (
	"log/slog"

	"ipytracer/internal/host/process"
)

// examiner identifies targets, reads the state of their Pythons, and gives them their instruments.
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

// sayUnseen reports, of a process that ends or becomes another program, that cells ran in it before its probes were in,
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

package tracer

import (
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// examiner identifies targets, reads the state of their Pythons, and gives them their instruments.
type examiner struct {
	*trace
	host       instruments.Host // of the instruments
	counter    instruments.ArrayCounter
	limits     *limits
	overlooked overlooked
}

// sayUnseen reports, of a process that ends or becomes another program, that cells ran in it before its probes were in,
// and none since.
func (e *examiner) sayUnseen(t *tracee.Target) {
	if t.Python == nil || t.Python.Unseen == 0 {
		return
	}
	e.certificate.MissesPython(t.PID,
		"pid %d: its cells up to In[%d] ran before its probes were in place, and none since: they are not seen",
		t.PID, t.Python.Unseen)
	t.Python.Unseen = 0
}

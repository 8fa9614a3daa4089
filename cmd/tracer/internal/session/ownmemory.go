package session

import (
	"ipytracer/attribution"
	"ipytracer/model"
	"ipytracer/tracer"
)

// thrift keeps a session below the limit on the tracer's own memory.
type thrift struct{ events int }

const thriftInterval = 1 << 8 // events

// pace is called at each event, and acts now and then. It returns the reason why a session gave up stacks, "" if it
// did not.
func (t *thrift) pace(running *tracer.Session) (why string) {
	if t.events++; running == nil || t.events%thriftInterval != 0 && running.Pending() {
		return ""
	}
	return tracer.Economize(running)
}

// OwnMemory returns the tracer's memory and its limit.
func OwnMemory(running *tracer.Session) *model.OwnMemory {
	f := tracer.Footprint(running)
	if f.Resident == 0 {
		return nil
	}
	own := &model.OwnMemory{Resident: f.Resident, Kernel: f.Kernel}
	if b := f.Bound; b != nil {
		own.Limit, own.LimitBy, own.Left = b.Bytes, b.Name, b.Room()
	}
	return own
}

// Slower names the probes at more expensive places than usual, and their cost so far, in some words.
func Slower(running *tracer.Session, says func(*model.Probe) string) (all []string) {
	for _, p := range tracer.DearProbes(running) {
		one := attribution.Probe(p)
		if text := says(&one); text != "" {
			all = append(all, text)
		}
	}
	return all
}

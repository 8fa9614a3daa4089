package tracer

import (
	"testing"

	"ipytracer/event"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// TestLookKnowsInterpreters: a look beside a session does not analyse a known interpreter again, and leaves writing to
// the cache to the session.
func TestLookKnowsInterpreters(t *testing.T) {
	cmd, r := aPython(t), newCacheRig(t)
	s := attached(t, &fakeKernel{}, Options{})
	kept := r.byUs()
	s.probes.Analyses.Cache, s.probes.Analyses.UID = kept.Cache, kept.UID
	open := func(i *instruments.Interpreters) {
		t.Helper()
		p, err := i.Open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	open(&s.probes.Interpreters)
	known := kept.Cache.Found()
	look := s.Looks.lookBeside(func(*tracee.Target) bool { return true })
	if !s.Looks.start(look, func() func() []event.Event {
		open(look.Interpreters)
		return func() []event.Event { return nil }
	}) {
		t.Fatal("it does not begin")
	}
	s.Looks.stop()
	if found := kept.Cache.Found(); found != known+1 {
		t.Errorf("%d analyses were found, %d before the look", found, known)
	}
	_ = r.find(&s.probes.Analyses, true)
	_ = r.find(r.byUs(), false) // the session still writes to the cache
}

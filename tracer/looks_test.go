package tracer

import (
	"testing"

	"ipytracer/event"
)

// TestLookKnowsInterpreters: a look beside a session does not analyse a known interpreter again, and leaves writing to
// the cache to the session.
func TestLookKnowsInterpreters(t *testing.T) {
	cmd, r := aPython(t), newCacheRig(t)
	s := attached(t, &fakeKernel{}, Options{})
	kept := r.byUs()
	s.analyses.cache, s.analyses.uid = kept.cache, kept.uid
	open := func(i *interpreters) {
		t.Helper()
		p, err := i.open(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		p.close()
	}
	open(&s.interpreters)
	known := kept.cache.Found()
	look := s.Looks.lookBeside(func(*target) bool { return true })
	if !s.Looks.begins(look, func() func() []event.Event {
		open(look.interpreters)
		return func() []event.Event { return nil }
	}) {
		t.Fatal("it does not begin")
	}
	s.Looks.stop()
	if found := kept.cache.Found(); found != known+1 {
		t.Errorf("%d analyses were found, %d before the look", found, known)
	}
	_ = r.find(&s.analyses, true)
	_ = r.find(r.byUs(), false) // the session still writes to the cache
}

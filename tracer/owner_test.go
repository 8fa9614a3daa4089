package tracer

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"ipytracer/internal/host/process"
)

// TestOwner: a target is its owner's, or is refused before it is examined. A target that has ended does not count as
// another user's.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cmd := waitingPython(t, 0)
	s := newSession(Options{})
	t.Cleanup(func() { _ = s.Close() })
	if err := s.targets.Hold(named(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	target := s.targets.All[0]
	root, another := uint32(0), uint32(65534)
	for _, c := range []struct {
		owner *uint32
		is    bool
	}{{nil, true}, {&root, true}, {&another, false}} {
		o := ownership{s.fs, c.owner}
		err := o.check(s.targets.All)
		if (err == nil) != c.is || err != nil && !errors.Is(err, process.ErrNotPermitted) {
			t.Errorf("%+v: %v", c, err)
		}
		if o.isLost(target) == c.is {
			t.Errorf("%+v: lost %v", c, !c.is)
		}
	}
	_, err := Attach(t.Context(), named(target.PID), Options{Owner: &another})
	want := fmt.Sprintf("process %d is user 0's, and only one of user 65534 is wanted", target.PID)
	var not *OwnerError
	if !errors.Is(err, process.ErrNotPermitted) || !errors.As(err, &not) || not.Error() != want {
		t.Errorf("attached to another's: %v", err)
	}
	end(cmd)
	if (ownership{s.fs, &another}).isLost(target) {
		t.Error("one that has ended has become another's")
	}
}

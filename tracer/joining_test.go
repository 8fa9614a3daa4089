package tracer

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/tracee"
)

// TestReleasedRoots: the number of a root is used again once it and its children have ended a while ago, and the kernel
// half has nothing of it left.
func TestReleasedRoots(t *testing.T) {
	k := &fakeKernel{woken: make(chan struct{}, 1)}
	s := attached(t, k, Options{})
	released := 0
	s.joining.open, s.joining.Released = true, func(uint32) { released++ }
	root := s.targets.All[0]
	if n, ok := s.targets.FreeRoot(); !ok || n != 1 {
		t.Errorf("free: %d, %v", n, ok)
	}
	child := &tracee.Target{PID: 7, Root: root.Root, Child: true}
	s.targets.All = append(s.targets.All, child)
	s.budget.Roots = map[uint32]*budget.Pauses{root.Root: {}}
	for _, c := range []struct {
		what     string
		change   func()
		released bool
	}{
		{"it lives", func() {}, false},
		{"it has just ended", func() { root.Gone, root.Ended = true, time.Now() }, false},
		{"a child lives", func() { root.Ended = time.Now().Add(-time.Hour) }, false},
		{"the kernel half has more", func() { s.targets.Drop(child); k.holds = true }, false},
		{"nothing is left", func() { k.holds = false }, true},
	} {
		c.change()
		s.releaseEnded()
		if got := !slices.Contains(s.targets.All, root); got != c.released {
			t.Errorf("%s: released %v", c.what, got)
		}
	}
	if _, kept := s.budget.Roots[root.Root]; kept || released != 1 {
		t.Errorf("its account is kept: %v; released %d times", kept, released)
	}
	if n, ok := s.targets.FreeRoot(); !ok || n != 0 {
		t.Errorf("free: %d, %v", n, ok)
	}
}

// TestRootLeavesASession: a root leaves with its processes though they live on, and a child that it forked meanwhile,
// too; then its number is free. None leaves a session that is closed.
func TestRootLeavesASession(t *testing.T) {
	k := &fakeKernel{woken: make(chan struct{}, 1), holds: true}
	s := attached(t, k, Options{})
	released := 0
	s.joining.open, s.joining.wake, s.joining.Released = true, k.Wake, func(uint32) { released++ }
	root := s.targets.All[0]
	Leave(s, root.Root)
	if removeLeaving(s); !root.Leaves || k.holds {
		t.Fatalf("it leaves: %v; the kernel half has it: %v", root.Leaves, k.holds)
	}
	root.Gone, root.Ended, k.holds = true, time.Now().Add(-time.Hour), true
	if s.releaseEnded(); released > 0 || k.holds {
		t.Errorf("with a child: released %d times; the kernel half has it: %v", released, k.holds)
	}
	root.Ended = time.Now().Add(-time.Hour)
	if s.releaseEnded(); released != 1 || len(s.targets.All) > 0 {
		t.Errorf("released %d times, %d targets are left", released, len(s.targets.All))
	}
	s.joining.close()
	if Leave(s, 1); len(s.joining.leaving) > 0 {
		t.Error("one leaves a session that is closed")
	}
}

// TestJoinRefused: a process that is traced already, one too many, and one that has ended are refused by what they are.
// No more wait than there is room for, and none once the session is closed.
func TestJoinRefused(t *testing.T) {
	s := attached(t, &fakeKernel{}, Options{})
	own, err := s.fs.Identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var got []error
	s.joining.open, s.joining.wake = true, s.ledger.Wake
	s.joining.Joined = func(_ process.Identity, _ uint32, err error) { got = append(got, err) }
	gone := process.Identity{PID: own.PID, StartTicks: own.StartTicks + 1}
	if !s.Join(own) {
		t.Fatal("it may not join")
	}
	s.joinNext()
	s.targets.All[0].PID = 1 << 30 // so that this process is another one's
	s.Join(gone)
	s.joinNext()
	for root := range uint32(ledger.MaxRoots) {
		s.targets.All = append(s.targets.All, &tracee.Target{PID: int(1<<29 + root), Root: root})
	}
	s.Join(own)
	s.joinNext()
	if len(got) != 3 || !errors.Is(got[0], ErrFollowed) || !errors.Is(got[1], process.ErrNoProcess) ||
		!errors.Is(got[2], ErrNoRoom) {
		t.Errorf("%v", got)
	}
	for range maxJoining {
		s.Join(own)
	}
	if s.Join(own) {
		t.Error("too many wait")
	}
	s.joining.close()
	if s.Join(own) {
		t.Error("it may join a session that is closed")
	}
	s.targets.All = s.targets.All[:1]
	s.targets.All[0].PID = os.Getpid()
}

// TestFollowGoesOn: a session that others may join goes on without targets, and ends with its context. It looks at
// nothing in its targets then.
func TestFollowGoesOn(t *testing.T) {
	k := &fakeKernel{script: []records{together(drawn(1, event.ProcessExit))}}
	s := attached(t, k, Options{})
	s.joining.open, s.joining.Released = true, func(uint32) {}
	stopped := false
	ctx, stop := context.WithCancelCause(t.Context())
	k.idle = func() { stopped = true; stop(errors.New("enough")) }
	_, last := following(t, ctx, s, atOnce)
	if !stopped || last.Reason != "enough" {
		t.Errorf("ended by %q before it was stopped", last.Reason)
	}
	if slices.Contains(k.calls, "rest") { // as the look at objects begins
		t.Errorf("calls %q", k.calls)
	}
}

// TestCalmSessionWaitsLonger: a session to which nothing happens waits longer, unless something is to be done soon.
func TestCalmSessionWaitsLonger(t *testing.T) {
	s := attached(t, &fakeKernel{}, Options{})
	for _, c := range []struct {
		what   string
		change func()
		long   bool
	}{
		{"a session with an end", func() { s.joining.calm = false }, false},
		{"nothing happens", func() { s.joining.open, s.joining.calm = true, true }, true},
		{"probes are to come back", func() {
			s.budget.Roots = map[uint32]*budget.Pauses{0: {Groups: []ledger.Group{ledger.GroupNumPy}}}
		}, false},
		{"they have", func() { s.budget.Roots = nil }, true},
		{"a target has ended", func() { s.targets.All[0].Gone = true }, false},
	} {
		c.change()
		for _, other := range s.targets.All {
			other.Python = nil
		}
		if until := s.patience(); until.After(time.Now().Add(tick)) != c.long {
			t.Errorf("%s: it waits until %v", c.what, until)
		}
	}
	s.targets.All[0].Gone = false
}

package ledger

import (
	"errors"
	"os/exec"
	"slices"
	"testing"

	"ipytracer/event"
)

// TestRootIsReleasedOnce: a root is released once its processes have ended, and not before. The next process with its
// number begins anew: with its first segment, with an account of its own, and with nothing of the other one's.
func TestRootIsReleasedOnce(t *testing.T) {
	l := load(t, Options{})
	if err := l.Accounts.SetBudget(0.03, 1000); err != nil {
		t.Fatal(err)
	}
	var c collected
	for range 3 {
		cmd := exec.Command("sh", "-c", "echo x; read line; true | true; sh -c 'exit 3' & wait; read line")
		in, out, err := piped(t, cmd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		c = collected{}
		if _, err := l.Processes.AttachProcess(5, cmd.Process.Pid, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write([]byte("go on\n")); err != nil {
			t.Fatal(err)
		}
		if done, err := l.Processes.Release(5); done || err != nil {
			t.Fatalf("released with a process: %v, %v", done, err)
		}
		in.Close()
		_ = cmd.Wait()
		poll(t, l, &c)
		done, err := l.Processes.Release(5)
		if !done || err != nil {
			t.Fatalf("released: %v, %v", done, err)
		}
		first, exits := c.boundaries[0], 0
		for i, b := range c.boundaries {
			if b.Root != 5 || b.Segment != uint64(i+1) {
				t.Fatalf("boundary %d: %+v", i, b)
			}
			if b.Kind == event.ProcessExit {
				exits++
			}
		}
		if first.Kind != event.Attached || first.Stream > 64 || exits < 4 {
			t.Errorf("the first boundary is %+v, %d processes ended", first, exits)
		}
		r, err := l.Accounts.root(5)
		if err != nil || r.Segment != 0 || r.Shared != 0 {
			t.Errorf("left: %+v, %v", r, err)
		}
	}
}

// TestRootLeavesAndJoinsAgain: a root leaves with its child though both live on, with an end of status 0 each, and
// joins again under the same number. Nothing of other roots changes.
func TestRootLeavesAndJoinsAgain(t *testing.T) {
	l := load(t, Options{})
	start := func(root uint32) (pid int, end func()) {
		cmd := exec.Command("sh", "-c", "read line; sleep 600 & echo x; read line; kill $!; wait")
		in, out, err := piped(t, cmd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Processes.AttachProcess(root, cmd.Process.Pid, 0); err != nil {
			t.Fatal(err)
		}
		_, err = in.Write([]byte("go on\n"))
		if _, failure := out.Read(make([]byte, 1)); errors.Join(err, failure) != nil {
			t.Fatal(err, failure)
		}
		return cmd.Process.Pid, func() { in.Close(); _ = cmd.Wait() }
	}
	pid, end := start(5)
	other, endOther := start(6)
	defer endOther()
	defer end()
	var before collected
	poll(t, l, &before)
	for _, processes := range []int{2, 1} {
		if err := l.Processes.Leave(5); err != nil {
			t.Fatal(err)
		}
		if err := l.Processes.Leave(5); !errors.Is(err, ErrNoProcess) {
			t.Errorf("again: %v", err)
		}
		var c collected
		poll(t, l, &c)
		ended := slices.DeleteFunc(c.boundaries, func(b event.Boundary) bool { return b.Kind != event.ProcessExit })
		if len(ended) != processes || !slices.ContainsFunc(ended, func(b event.Boundary) bool {
			return b.Root == 5 && int(b.PID) == pid
		}) {
			t.Errorf("boundaries %+v", c.boundaries)
		}
		if done, err := l.Processes.Release(5); !done || err != nil {
			t.Fatalf("released: %v, %v", done, err)
		}
		if _, err := l.Processes.Slot(pid); !errors.Is(err, ErrNoProcess) {
			t.Errorf("it is still there: %v", err)
		}
		if _, err := l.Processes.Slot(other); err != nil {
			t.Error(err)
		}
		if _, err := l.Processes.AttachProcess(5, pid, 0); err != nil {
			t.Fatal(err)
		}
		poll(t, l, &collected{})
	}
}

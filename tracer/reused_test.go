package tracer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
	"ipytracer/internal/ledger"
)

// TestReusedPID gives the pid of an examined process to another one, before and during the attach. It runs in a pid
// namespace of its own, where no other program takes pids.
func TestReusedPID(t *testing.T) {
	if hostile.InPIDNamespace(t) {
		t.Run("before the attach", reusedBefore)
		t.Run("between probes", reusedBetween)
		t.Run("ended between probes", endedBetween)
	}
}

// TestEndsWhileProbed: a process that ends while its probes are placed has ended. In a session that goes on without it,
// it is one of its processes.
func TestEndsWhileProbed(t *testing.T) {
	for _, tolerant := range []bool{false, true} {
		t.Run(fmt.Sprintf("tolerant=%v", tolerant), func(t *testing.T) {
			first := waitingPython(t, 0)
			s := newSession(Options{Tolerant: tolerant})
			k := &fakeKernel{woken: make(chan struct{}, 1), attaching: func() { end(first) }}
			t.Cleanup(func() { _ = s.Close() })
			pid := first.Process.Pid
			err := errors.Join(s.targets.Hold(named(pid)), s.recognize(t.Context()), s.useKernelHalf(k.half()),
				s.attachAll())
			if gone := errors.Is(err, process.ErrNoProcess); gone == tolerant || err != nil && tolerant {
				t.Errorf("attached: %v", err)
			}
			if begun := len(s.starts) == 1 && s.targets.Find(pid) != nil; begun != tolerant {
				t.Errorf("a process of the session: %v", begun)
			}
			if n := k.probes.Load(); n != 0 {
				t.Errorf("%d probes are left", n)
			}
		})
	}
}

// waitingPython starts a Python process that waits. Its pid is want, unless that is 0.
func waitingPython(t *testing.T, want int) *exec.Cmd {
	t.Helper()
	for range 100 { // a thread of this program may take the pid
		cmd := exec.Command("/usr/bin/python3", "-S", "-c", "import sys; print(flush=True); sys.stdin.read()")
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if want > 0 {
			hostile.NextPID(t, want)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadByte(); err != nil {
			t.Fatal(err)
		}
		if want == 0 || cmd.Process.Pid == want {
			t.Cleanup(func() { end(cmd); _, _ = io.WriteString(in, "") })
			return cmd
		}
		end(cmd)
	}
	t.Fatalf("no process got pid %d", want)
	return nil
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// named returns the process that has a pid, whichever that is.
func named(pid int) []process.Identity { return []process.Identity{{PID: pid}} }

// looked returns a session that has examined a Python process. next gives that process's pid to another one.
func looked(t *testing.T) (s *Session, first *exec.Cmd, next func()) {
	t.Helper()
	first = waitingPython(t, 0)
	s = newSession(Options{})
	t.Cleanup(func() { _ = s.Close() })
	for _, err := range []error{s.targets.Hold(named(first.Process.Pid)), s.recognize(t.Context()), s.load()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	target := s.targets.All[0]
	return s, first, func() {
		t.Helper()
		end(first)
		waitingPython(t, first.Process.Pid)
		if now, err := s.fs.Identity(target.PID); err != nil || now == target.Handle.Identity() {
			t.Fatalf("%+v has become %+v, %v", target.Handle.Identity(), now, err)
		}
	}
}

func reusedBefore(t *testing.T) {
	s, _, next := looked(t)
	seen := s.targets.All[0].Handle.Identity()
	next()
	if err := s.attach(0, s.targets.All[0], true); !errors.Is(err, ledger.ErrNoProcess) {
		t.Errorf("attached to what has the pid now: %v", err)
	}
	// A process chosen from a list is refused, too.
	err := s.targets.Hold([]process.Identity{seen})
	if said := fmt.Sprintf("no process %d", seen.PID); !errors.Is(err, process.ErrNoProcess) || err.Error() != said {
		t.Errorf("found %v, want %q", err, said)
	}
}

func reusedBetween(t *testing.T) {
	s, _, next := looked(t)
	target := s.targets.All[0]
	if err := s.attach(0, target, true); err != nil {
		t.Fatal(err)
	}
	if err := target.Resume(ledger.GroupCell); err != nil {
		t.Errorf("they are in place: %v", err)
	}
	target.CloseProbes()
	next()
	s.examiner.equip(target)
	if err := target.Resume(ledger.GroupCell); !errors.Is(err, process.ErrNoProcess) {
		t.Errorf("probes were put into what has the pid now: %v", err)
	}
	if !s.probes.Placer.HasEnded(target) {
		t.Error("it counts as alive")
	}
}

func endedBetween(t *testing.T) {
	s, first, _ := looked(t)
	target := s.targets.All[0]
	if err := s.attach(0, target, true); err != nil {
		t.Fatal(err)
	}
	target.CloseProbes()
	end(first)
	s.examiner.equip(target)
	if err := target.Resume(ledger.GroupCell); !errors.Is(err, process.ErrNoProcess) {
		t.Errorf("probes of a process that has ended: %v", err)
	}
}

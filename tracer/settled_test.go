package tracer

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ipytracer/event"
)

// aPython starts a Python process that waits.
func aPython(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-c",
		"x = [bytes([i]) for i in range(200)]\nprint('up', flush=True)\ninput()")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// endOfPython follows a session with a Python process from the last boundaries to its end. It calls meanwhile once
// every figure is known, when no objects may have been examined.
func endOfPython(t *testing.T, o Options,
	meanwhile func(*exec.Cmd)) (told []string, settled *event.Settled, last *event.Finish) {
	t.Helper()
	cmd := aPython(t)
	k := &fakeKernel{script: []records{change(1), change(2)}}
	s := attached(t, k, o)
	python, err := s.probes.Interpreters.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s.targets.All[0].Python = python
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for {
		e, err := s.Next(ctx)
		if err == io.EOF {
			return told, settled, last
		}
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, inWords(e))
		if last, _ = e.(*event.Finish); last != nil {
			continue
		}
		if now, ok := e.(*event.Settled); ok {
			settled = now
			if slices.Contains(k.calls, "rest") {
				t.Errorf("asked for %q: the look has begun before it was told that all figures are known", k.calls)
			}
			meanwhile(cmd)
		}
	}
}

func nothing(*exec.Cmd) {}

// TestSettledComesBeforeTheLook: where it is asked for, a Settled event comes after the last boundaries and before the
// look at objects, with all that the session's end reports on figures.
func TestSettledComesBeforeTheLook(t *testing.T) {
	told, settled, last := endOfPython(t, Options{Settle: true, Holders: true}, nothing)
	wantTold(t, told, "start", "limits", "boundary 90", "change 1", "limits", "settled", "change 2", "holders",
		"variables", "residence", "finish")
	if settled == nil || !settled.Holders || settled.Finish.Reason != last.Reason || len(settled.Finish.Unnamed) > 0 ||
		len(last.Unnamed) > 0 {
		t.Errorf("%+v, %+v", settled, last)
	}
	told, settled, _ = endOfPython(t, Options{Settle: true}, nothing)
	wantTold(t, told, "start", "limits", "boundary 90", "change 1", "limits", "settled", "change 2", "variables",
		"residence", "finish")
	if settled == nil || settled.Holders {
		t.Errorf("%+v: who holds what was not asked for", settled)
	}
	told, _, _ = endOfPython(t, Options{}, nothing)
	wantTold(t, told, "start", "limits", "boundary 90", "change 1", "limits", "change 2", "variables", "residence",
		"finish")
}

// TestLookEnds: if the user ends the look, the session's end comes without it and reports that. Every figure stays.
func TestLookEnds(t *testing.T) {
	looking, enough := context.WithCancel(t.Context())
	told, settled, last := endOfPython(t, Options{Settle: true, Looking: looking}, func(*exec.Cmd) { enough() })
	wantTold(t, told, "start", "limits", "boundary 90", "change 1", "limits", "settled", "change 2", "finish")
	if len(last.Unnamed) != 1 || !strings.Contains(last.Unnamed[0], "the look at its objects was ended by Ctrl-C") {
		t.Errorf("%q", last.Unnamed)
	}
	if len(settled.Finish.Unnamed) > 0 || !slices.Equal(last.Problems, settled.Finish.Problems) || len(last.Lost) > 0 {
		t.Errorf("%+v, was %+v", last, settled.Finish)
	}
}

// TestEndsDuringTheLook: if a target ends once every figure is known, only the results of the look at it are lost.
func TestEndsDuringTheLook(t *testing.T) {
	told, settled, last := endOfPython(t, Options{Settle: true, Holders: true}, func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if told[len(told)-1] != "finish" || slices.Contains(told, "variables") ||
		!slices.Equal(last.Problems, settled.Finish.Problems) {
		t.Errorf("told %q; %q, was %q", told, last.Problems, settled.Finish.Problems)
	}
}

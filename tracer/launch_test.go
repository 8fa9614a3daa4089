package tracer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

func TestNoSuchCommand(t *testing.T) {
	_, err := Launch(exec.Command("/nowhere/python3"), Options{})
	var failed *NotStartedError
	if !errors.As(err, &failed) || failed.Name != "/nowhere/python3" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestKilledUnattached: a command that cannot be traced is over before its first instruction. Without root that is the
// first thing that fails, with root a ring that no kernel makes.
func TestKilledUnattached(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	cmd := exec.Command("touch", made)
	if _, err := Launch(cmd, Options{ChangeRing: 12345}); err == nil {
		t.Fatal("attached with a ring of 12345 bytes")
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the command was not killed")
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command has run: %v", err)
	}
}

// launch starts a command under a tracer, where that is possible.
func launch(t *testing.T, cmd *exec.Cmd) *Session {
	t.Helper()
	s, err := Launch(cmd, Options{})
	if err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") != "1" &&
			(errors.Is(err, ledger.ErrNotPermitted) || errors.Is(err, ledger.ErrNotSupported)) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return s
}

// TestLineOfTheFirstStatement: the first statement of a program has its line, even if the tracer gets no time before
// the program has ended.
func TestLineOfTheFirstStatement(t *testing.T) {
	const size = 64 << 20
	cmd := exec.Command("/usr/bin/python3", "-I", "-S", "-c",
		fmt.Sprintf("\nmade = bytearray(%d)", size))
	s := launch(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	lines, touched := map[uint64]int32{}, map[uint64]event.Bytes{}
	for {
		e, err := s.Next(context.Background())
		if err != nil {
			break
		}
		switch x := e.(type) {
		case *event.Stack:
			if n := len(x.Frames); n > 0 && x.Frames[n-1].File == "<string>" {
				lines[x.Number] = x.Frames[n-1].Line
			}
		case *event.Change:
			if x.IsTouch() && x.Sample {
				touched[x.Stack] += x.Represents()
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	of := event.Bytes(0)
	for stack, bytes := range touched {
		if lines[stack] == 2 {
			of += bytes
		}
	}
	if of < size*9/10 {
		t.Errorf("line 2 has touched %d; lines %v, touched %v", of, lines, touched)
	}
}

// TestFromItsFirstInstruction: the session begins with the command and has seen its end.
func TestFromItsFirstInstruction(t *testing.T) {
	cmd := exec.Command("true")
	s := launch(t, cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := map[event.BoundaryKind]int{}
	for {
		e, err := s.Next(context.Background())
		if err != nil {
			break
		}
		if b, ok := e.(*event.Boundary); ok && int(b.PID) == cmd.Process.Pid {
			seen[b.Kind]++
		}
	}
	if err := errors.Join(<-ended, s.Close()); err != nil {
		t.Error(err)
	}
	if seen[event.Attached] != 1 || seen[event.ProcessExit] != 1 {
		t.Errorf("boundaries: %v", seen)
	}
}

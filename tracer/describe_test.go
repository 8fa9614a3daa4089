package tracer

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// TestDescriber: for a hundred kernels that run the same interpreter, its file is analysed once. Each analysis takes a
// tenth of a second, and a listing of kernels has five seconds.
func TestDescriber(t *testing.T) {
	const python = "/usr/bin/python3"
	if _, err := exec.LookPath(python); err != nil {
		t.Skip(err)
	}
	start := func() process.Python {
		t.Helper()
		cmd := exec.Command(python, "-S", "-c", "import sys; print(flush=True); sys.stdin.read()")
		in, err := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err, err2, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return process.Python{Identity: process.Identity{PID: cmd.Process.Pid}}
	}
	one, other := start(), start()
	d := NewDescriber(process.FS{})
	defer d.Close()
	if seen, err := d.Describe(one); err != nil || seen.Python == "" {
		t.Fatalf("%+v, %v", seen, err)
	}
	if len(d.known.Known) != 1 {
		t.Fatalf("%d interpreters", len(d.known.Known))
	}
	known := errors.New("it is known")
	for key, found := range d.known.Known {
		found.Err = known
		d.known.Known[key] = found
	}
	if _, err := d.Describe(other); !errors.Is(err, known) {
		t.Errorf("it was looked through again: %v", err)
	}
}

// TestTooManyKernels: of too many kernels, a session reports those that it does not trace, and its certificate is not
// complete; if they were named, it is refused.
func TestTooManyKernels(t *testing.T) {
	var who []process.Identity
	for pid := range 100 {
		who = append(who, process.Identity{PID: pid + 1000})
	}
	c := tracee.Certificate{}
	if some, err := withRoom(who[:ledger.MaxRoots], &c, true); err != nil || len(some) != ledger.MaxRoots ||
		c.Missing != 0 {
		t.Errorf("as many as there is room for: %d, %v", len(some), err)
	}
	some, err := withRoom(who, &c, true)
	if err != nil || len(some) != ledger.MaxRoots || c.Missing != 1 || len(c.Trouble) != 1 ||
		!strings.Contains(c.Trouble[0], "from pid 1064 on") {
		t.Errorf("of all: %d, %v, %+v", len(some), err, c)
	}
	if _, err := withRoom(who, &c, false); !errors.Is(err, ErrTooMany) {
		t.Errorf("named: %v", err)
	}
}

package tracer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"ipytracer/tracer/internal/tracee"
)

// TestForkedDuringTheAttach: a session adopts a process that its target forks between the look at /proc and the moment
// in which the target is traced.
func TestForkedDuringTheAttach(t *testing.T) {
	var child *exec.Cmd
	var adopted []int
	k := &fakeKernel{
		attaching: func() { child = startCat(t) },
		adopt:     func(pid int) (uint32, error) { adopted = append(adopted, pid); return 1, nil },
	}
	attached(t, k, Options{scansTake: time.Hour})
	if !slices.Contains(adopted, child.Process.Pid) {
		t.Errorf("took in %v, without %d", adopted, child.Process.Pid)
	}
}

// TestForksWithoutEnd: the certificate reports that processes were started faster than they were found.
func TestForksWithoutEnd(t *testing.T) {
	k := &fakeKernel{adopt: func(int) (uint32, error) { startCat(t); return 1, nil }}
	startCat(t)
	s := attached(t, k, Options{scansTake: time.Hour})
	want := fmt.Sprintf("below pid %d, processes were still being started or executing programs at look %d of the "+
		"attach: some of them may not be traced", os.Getpid(), tracee.MaxScans)
	if !slices.Contains(s.certificate.Trouble, want) || s.certificate.Missing == 0 {
		t.Errorf("the certificate says %q", s.certificate.Trouble)
	}
}

// startCat starts a child that does nothing until the test is over.
func startCat(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return cmd
}

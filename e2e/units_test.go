package e2e

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnits runs scripts/packaging/*.service under a systemd of its own (testdata/systemd). A plain user's notebook has
// its figures by %tracer start, and so has one that is itself a service. Without the rights that the units remove, the
// tracer still works. Stop, kill and restart leave nothing behind.
func TestUnits(t *testing.T) {
	together(t)
	needModules(t, "ipykernel", "jupyter_client")
	cmd := exec.Command("../testdata/systemd/boot.sh", binary, "../testdata/systemd/units.py")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Logf("what was seen to hold:\n%s", said.String())
		if err != nil || !strings.Contains(said.String(), "with the cell in it, exactly") {
			t.Errorf("%v: what stands last does not hold", err)
		}
	case <-time.After(4 * patience):
		t.Errorf("it does not end:\n%s", said.String())
	}
}

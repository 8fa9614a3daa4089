package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The child runs one cell as soon as it is signalled that the tracer is stopped.
const (
	stoppedParent = `
import os, subprocess, sys, time
os.chdir(sys.argv[1])
open("up", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
subprocess.run([sys.executable, "-c", sys.argv[2], sys.argv[3]], check=True)
open("over", "w").close()
`
	stoppedChild = `
import sys, time
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_cell("a = bytearray(1 << 24)", store_history=True)
open("ran", "w").close()
time.sleep(float(sys.argv[1]))
`
)

// TestStandsStill: while the tracer gets no CPU, a Python is started and runs a cell. The report says that there are
// cells without windows, whether the Python still runs at the look or has ended. It runs for longer than a busy machine
// takes to look at it.
func TestStandsStill(t *testing.T) {
	together(t)
	for name, c := range map[string]struct{ until, rests, says string }{
		"it runs still": {"ran", "15",
			"its cells up to In[1] ran before its probes were in place, and none since: they are not seen"},
		"it has ended": {"over", "0",
			"1 of the Pythons that traced processes started could not be looked at before they ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "out.json")
			cmd := exec.Command(binary, "run", "--quiet", "--format", "json", "-o", out, "--", python(), "-c",
				stoppedParent, dir, stoppedChild, c.rests)
			cmd.Env = append(os.Environ(), "IPYTHONDIR="+dir)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			appears(t, filepath.Join(dir, "up"))
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			appears(t, filepath.Join(dir, c.until))
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			r := readReport(t, out)
			if said := strings.Join(r.Certificate.Problems, "\n"); r.Certificate.Complete ||
				!strings.Contains(said, c.says) {
				t.Errorf("complete %v: %q, problems: %s", r.Certificate.Complete, r.Certificate.Incomplete, said)
			}
		})
	}
}

func appears(t *testing.T, file string) {
	t.Helper()
	until(t, filepath.Base(file), func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
}

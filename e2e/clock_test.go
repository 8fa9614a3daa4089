package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// inAnotherTime runs a command in a time namespace with clocks that are days ahead (time_namespaces(7)).
var inAnotherTime = []string{"unshare", "--time", "--monotonic", "777777", "--boottime", "888888", "--fork",
	"--kill-child"}

const timedShell = `import os, sys, IPython
print(os.getpid(), flush=True)
sys.stdin.readline()
IPython.start_ipython(argv=['--no-banner', '--colors=NoColor', '--quick', '-c', sys.argv[1]])`

// TestTimeNamespaces: the clocks of the target, or of the tracer, are ahead of the machine's. That changes no figure
// and no process's identity.
func TestTimeNamespaces(t *testing.T) {
	together(t)
	if out, err := exec.Command(inAnotherTime[0],
		append(inAnotherTime[1:len(inAnotherTime):len(inAnotherTime)], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no time namespaces here, or an old unshare(1): %s", out)
	}
	ahead := filepath.Join(t.TempDir(), "tracer")
	if err := os.WriteFile(ahead, []byte("#!/bin/sh\nexec "+strings.Join(inAnotherTime, " ")+" "+binary+" \"$@\"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		target []string
		tracer string
	}{{"the target's", inAnotherTime, binary}, {"the tracer's", nil, ahead}, {"each its own", inAnotherTime, ahead}} {
		t.Run(c.name, func(t *testing.T) {
			args := append(c.target[:len(c.target):len(c.target)], "env", "IPYTHONDIR="+t.TempDir(), python(), "-c",
				timedShell,
				"import subprocess, sys\nx = bytearray(64 << 20)\n"+
					"subprocess.run([sys.executable, '-c', 'y = bytearray(32 << 20)'])")
			in, out := startPiped(t, exec.Command(args[0], args[1:]...))
			var pid int
			if _, err := fmt.Fscan(out, &pid); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, out) }()
			tr := tracedBy(t, c.tracer, nil, pid, "attach")
			if _, err := io.WriteString(in, "go\n"); err != nil {
				t.Fatal(err)
			}
			r, _ := tr.wait(0)
			cells := topCells(r, pid)
			// A slow machine may look at the child too late: TestPythonsThatEndFirst covers that.
			complete := r.Certificate.Complete ||
				len(r.Certificate.Incomplete) == 1 && lost(t, r, "Pythons whose cells cannot be seen") == 1
			if len(cells) != 1 || cells[0].Status != model.OK || !complete {
				t.Fatalf("cells: %+v, incomplete %q, problems %q", cells, r.Certificate.Incomplete,
					r.Certificate.Problems)
			}
			if need := cells[0].Meters["cpu.mapped"].Need(); need < 64<<20 || need > 96<<20 {
				t.Errorf("mapped: %d bytes", need)
			}
			if d := cells[0].DurationNS; d <= 0 || d > int64(patience) {
				t.Errorf("it took %d ns", d)
			}
		})
	}
}

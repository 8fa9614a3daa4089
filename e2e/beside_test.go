package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAgentBeside: an agent follows a kernel before its first cell, on an idle machine and beside another user's 64
// sleeping copies of an interpreter or 16 processes with odd files of a Python's name, and `tracer kernels` lists it. The
// bound is for a machine that runs all other tests at the same time; docs/agent.md has the seconds on an idle one.
func TestAgentBeside(t *testing.T) {
	together(t)
	require(t)
	needModules(t, "ipykernel", "jupyter_client")
	for _, attack := range [][]string{nil, {"copies", "64"}, {"odd", "16"}} {
		args := []string{"--pid", "--fork", "--mount-proc", "--kill-child", python(),
			filepath.Join(workloads, "run_beside.py"), binary, "60", "2"}
		out, err := exec.Command("unshare", append(args, attack...)...).CombinedOutput()
		t.Logf("%v: %s", attack, out)
		if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
			t.Errorf("%v: %v", attack, err)
		}
	}
}

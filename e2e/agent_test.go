package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAgent: one agent traces kernels that come and go. What it tells Prometheus is what `tracer attach` reports of the
// same cells, to the byte. Numbers of kernels are used again, a user has no more than its share, a configuration is
// read again, and strangers who connect keep nobody from the figures. It runs in a process id namespace: an agent
// traces every kernel that it sees.
func TestAgent(t *testing.T) {
	together(t)
	require(t)
	needModules(t, "ipykernel", "jupyter_client", "numpy")
	out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", python(),
		filepath.Join(workloads, "run_agent.py"), binary).CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

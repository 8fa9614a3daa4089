package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentDask: an agent on the notebook's node and one on the workers' trace a cell and its tasks. The tasks' spans
// have the figures of `tracer attach`'s report, and are children of the cell's span. The notebook's line has the
// workers that only an agent follows. The nodes are process id namespaces.
func TestAgentDask(t *testing.T) {
	together(t)
	require(t)
	needModules(t, "ipykernel", "jupyter_client", "numpy", "distributed")
	env, _ := companionAt(t, "/")
	companion := filepath.Join(strings.TrimPrefix(env[0], "PYTHONPATH="), "ipytracer")
	waitsLonger(t, filepath.Join(companion, "_dask_figures.py"), "_TO_ANSWER = 0.5", "30.0")
	cmd := exec.Command(python(), filepath.Join(workloads, "run_agent_dask.py"), binary)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Error(err)
	}
}

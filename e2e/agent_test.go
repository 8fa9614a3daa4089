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

// TestAgentDoors: strangers who listen at the agent's address, hold connections, never end a request, read nothing, or
// ask without end keep nobody from the figures, get no token, and are no reason for the agent to end.
func TestAgentDoors(t *testing.T) {
	together(t)
	out, err := exec.Command("unshare", "--pid", "--mount", "--net", "--fork", "--mount-proc", "--kill-child",
		"/usr/bin/python3", filepath.Join(workloads, "run_agent_doors.py"), binary).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Error(err)
	}
}

// TestAgentProfiles: the profiles that are pulled from an agent have what the cells of `tracer attach`'s report have
// allocated, by line and to the byte, and what is held.
func TestAgentProfiles(t *testing.T) {
	together(t)
	require(t)
	needModules(t, "ipykernel", "jupyter_client", "numpy")
	out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", python(),
		filepath.Join(workloads, "run_profiles.py"), binary).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Error(err)
	}
}

// TestAgentCapabilities: with the capabilities of its unit, no new privileges and a read-only root, an agent traces
// another user's kernel. Without any one of them it ends with status 3 and a sentence that names that one.
func TestAgentCapabilities(t *testing.T) {
	together(t)
	needModules(t, "ipykernel", "jupyter_client")
	all := unitsCapabilities(t, "ipytracer-agent.service")
	if len(all) != 4 {
		t.Fatalf("%v", all)
	}
	args := []string{"--pid", "--mount", "--fork", "--mount-proc", "--kill-child", python(),
		filepath.Join(workloads, "run_agent_confined.py"), binary}
	out, err := exec.Command("unshare", append(args, all...)...).CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

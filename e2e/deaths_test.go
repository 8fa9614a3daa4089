package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestDeaths: beside an agent, a kernel that the OOM killer ended leaves a report, which its user can have and nobody
// else, and the companion of the notebook's next kernel says so once, with the report's figures.
func TestDeaths(t *testing.T) {
	together(t)
	require(t)
	needModules(t, "ipykernel", "jupyter_client")
	const limit = 600 << 20
	group := memoryCgroup(t, limit)
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", python(),
		filepath.Join(workloads, "run_deaths.py"), binary, group, strconv.Itoa(limit))
	modules, err := filepath.Abs("../python/src")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

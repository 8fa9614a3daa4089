package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/model"
)

// TestMergeDask: a client of Dask and its worker run under a tracer each. By the messages that the package marks, the
// worker's recording is placed where it was, although its wall clock is off by an hour.
func TestMergeDask(t *testing.T) {
	together(t)
	needModules(t, "distributed")
	env, _ := companionAt(t, "/")
	companion := filepath.Join(strings.TrimPrefix(env[0], "PYTHONPATH="), "ipytracer")
	waitsLonger(t, filepath.Join(companion, "_dask_figures.py"), "_TO_ANSWER = 0.5", "30.0")
	dir := t.TempDir()
	var said [2]bytes.Buffer
	start := func(i int, file string, args ...string) *exec.Cmd {
		cmd := exec.Command(binary, append([]string{"run", "--quiet", "--budget", "off", "--record", file, "-o",
			os.DevNull, "--", python()}, args...)...)
		cmd.Env = append(append(os.Environ(), env...), "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED=critical")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said[i], &said[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	here, there := filepath.Join(dir, "client.arrows"), filepath.Join(dir, "worker.arrows")
	address := filepath.Join(dir, "address")
	client := start(0, here, filepath.Join(workloads, "run_dask_client.py"), address)
	var at []byte
	until(t, "the scheduler listens", func() (listens bool) {
		at, _ = os.ReadFile(address)
		return len(at) > 0
	})
	worker := start(1, there, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard",
		"--local-directory", dir, string(at))
	for i, cmd := range []*exec.Cmd{client, worker} {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, &said[i])
		}
	}
	if !strings.Contains(said[0].String(), `["bytearray", 2]`) {
		t.Fatalf("tasks: %s", &said[0])
	}
	exact, _ := mergeOf(t, here, there)
	m, _ := mergeOf(t, here, otherBoot(t, there, int64(time.Hour)))
	n, zero := m.Nodes[1], m.Nodes[0].StartNS
	truth := exact.Nodes[1].StartNS - exact.Nodes[0].StartNS
	if n.ClockBy != model.ByMessages || n.Messages < 2 || len(m.Doubts) > 0 {
		t.Fatalf("%+v, %q", n, m.Doubts)
	}
	low, high := *n.EarliestStart-zero, *n.LatestStart-zero
	if truth < low || truth > high || n.StartNS < *n.EarliestStart || n.StartNS > *n.LatestStart {
		t.Errorf("it began at %d, not from %d to %d", truth, low, high)
	}
	t.Logf("%d messages; the clock is known to within %v", n.Messages, time.Duration(high-low))
}

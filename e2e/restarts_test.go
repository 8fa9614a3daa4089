package e2e

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

// descriptors returns the number of files that a process has open.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestKernelRestartedUnderAServer: each kernel has its own session with the right figures. The session ends with the
// kernel, and with it its probes, maps and helpers; the server has no more files open at the end than after the first.
func TestKernelRestartedUnderAServer(t *testing.T) {
	together(t)
	restarts := hostile.Attempts(3)
	s := startServer(t, "--per-user", strconv.Itoa(restarts+4))
	n, server := notebookOf(t, s), s.cmd.Process.Pid
	var first, most int64
	var open int
	for i := range restarts {
		n.run("%load_ext ipytracer")
		n.starts()
		n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
		session, ok := s.session(n.pid)
		if !ok {
			t.Fatal("no process traces")
		}
		n.pid = n.asks(request{"restart": true}).PID
		until(t, "the session is over, and what it has started", func() bool {
			left, err := process.FS{}.Descendants(server)
			return err == nil && len(left) == 0 && (process.FS{}).Same(session) != nil
		})
		status, err := process.FS{}.Proc(server).Status()
		if err != nil {
			t.Fatal(err)
		}
		if most = max(most, status.ResidentBytes); i == 0 {
			first, open = status.ResidentBytes, descriptors(t, server)
		}
		if status.Threads > 100 {
			t.Errorf("kernel %d: the server has %d threads", i+1, status.Threads)
		}
	}
	until(t, "the server has no more open than after the first kernel",
		func() bool { return descriptors(t, server) <= open })
	t.Logf("%d kernels: %d descriptors, %d KiB resident after the first, at most %d KiB", restarts, open, first>>10,
		most>>10)
	if most > first+64<<20 {
		t.Error("the server's memory grows")
	}
}

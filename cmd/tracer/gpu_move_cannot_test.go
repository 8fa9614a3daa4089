package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/gpu/gputest"
)

// TestYieldCannot: if the driver cannot move the memory, one sentence says why, and the process is unchanged.
func TestYieldCannot(t *testing.T) {
	h := startHolder(t)
	pid := fmt.Sprint(h.cmd.Process.Pid)
	broken, old, older := t.TempDir(), t.TempDir(), t.TempDir()
	gputest.CUDA(t, old, "cuCheckpointProcessUnlock")
	gputest.CUDA(t, older, "cuCheckpoint*")
	gputest.Write(t, filepath.Join(broken, "libcuda.so.1"), "not a library")
	for _, c := range []struct {
		dir, want string
		status    int
		args      []string
	}{
		{
			older, "driver is too old to move the memory of a process: " +
				"libcuda.so.1 has no cuCheckpointProcessGetState; that takes driver 570", 3, []string{"yield", pid},
		},
		{old, "has no cuCheckpointProcessUnlock", 3, []string{"restore", pid}},
		{broken, "the CUDA driver cannot be loaded: ", 3, []string{"yield", pid}},
		{h.dir, "does not use CUDA", 2, []string{"yield", fmt.Sprint(os.Getpid())}},
		{h.dir, "there is no process 2147483647", 2, []string{"yield", "2147483647"}},
		{h.dir, `"x" is not a process id`, 2, []string{"yield", "x"}},
		{h.dir, "gpu restore needs a PID", 2, []string{"restore"}},
		{h.dir, "--timeout must be more than 0", 2, []string{"yield", pid, "--timeout", "0s"}},
		{h.dir, "is a thread of process", 2, []string{"yield", otherThread(t)}},
	} {
		status, out, errs := gpuCommand(t, gputest.CUDAEnviron(t, c.dir, h.truth, ""),
			append([]string{"gpu"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.want) || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d, want %d and %q: %q %q", c.args, status, c.status, c.want, out, errs)
		}
		h.inState(standinRunning)
	}
	h.goesOn()
}

// otherThread returns the ID of a thread of this process other than its first.
func otherThread(t *testing.T) string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if task.Name() != fmt.Sprint(os.Getpid()) {
			return task.Name()
		}
	}
	t.Fatal("one thread only")
	return ""
}

// TestYieldOfAnother: a user who is neither root nor the owner gets a message.
func TestYieldOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes another user")
	}
	h := startHolder(t)
	program := filepath.Join("/proc/self/fd/3")
	f, err := os.Open(buildTracer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command(program, "gpu", "yield", fmt.Sprint(h.cmd.Process.Pid))
	cmd.ExtraFiles = []*os.File{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != console.CannotTrace || !strings.Contains(string(out), "is not yours to change") {
		t.Errorf("%v: %s", cmd.ProcessState, out)
	}
	h.inState(standinRunning)
}

// TestYieldNeedsRoom: memory without room on the host is not moved, unless forced.
func TestYieldNeedsRoom(t *testing.T) {
	h := startHolder(t)
	machine := fmt.Sprintf("driver 580\ngpu GPU-a 0:0f:0 0 150754820096 6000000000 144000000000 0 -1 NVIDIA H200\n"+
		"process %d %d C\n", h.cmd.Process.Pid, 1<<60)
	libraries := gputest.Library(t)
	env := append(gputest.Environ(t, libraries+":"+h.dir, machine), "STANDIN_TRUTH="+h.truth)
	pid := fmt.Sprint(h.cmd.Process.Pid)
	if status, out, errs := gpuCommand(t, env, "gpu", "yield", pid); status != 1 ||
		!strings.Contains(errs, "holds 1048576.00 TiB on its GPUs, and there is room for ") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	h.inState(standinRunning)
	if status, out, errs := gpuCommand(t, env, "gpu", "yield", pid, "--force"); status != 0 ||
		!strings.Contains(out, "it holds 1048576.00 TiB on its GPUs now") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	h.inState(standinCheckpointed)
}

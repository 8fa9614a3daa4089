package console

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/report/reporttest"
)

// TestNotPython: for a wrong pid the message names the process.
func TestNotPython(t *testing.T) {
	dir := t.TempDir()
	sleeper := filepath.Join(dir, "s\x1b[31mleep")
	if err := os.Symlink("/bin/sleep", sleeper); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sleeper, "1000")
	cmd.Args[0] = "tail -f <b>\x1b]0;x\a\nlog"
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); { // Linux shows the arguments a bit later
		if c, err := (process.FS{}).Proc(cmd.Process.Pid).Cmdline(); err == nil && len(c.Args) > 0 {
			break
		}
	}
	status, message := Explain(&process.Error{PID: cmd.Process.Pid, Kind: process.ErrNotPython})
	want := fmt.Sprintf("process %d is not a Python but s", cmd.Process.Pid)
	if status != WrongUsage || !strings.HasPrefix(message, want) || !strings.Contains(message, "(tail -f <b>") ||
		!strings.Contains(message, "'tracer kernels'") {
		t.Errorf("%d: %q", status, message)
	}
	reporttest.CheckSafe(t, message, "")
	if got := notPython(1 << 30); !strings.HasPrefix(got, "process 1073741824 is not a Python (no CPython") {
		t.Errorf("a process that has ended: %q", got)
	}
	// In another process ID namespace, process 2 is another one.
	if got := programOf(process.FS{}, 2); got != "" && got != "a thread of the Linux kernel, kthreadd" {
		if stat, err := (process.FS{}).Proc(2).Stat(); err != nil || stat.KernelThread() {
			t.Errorf("pid 2: %q", got)
		}
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestAgentBeside: an agent follows a kernel before its first cell, on an idle machine and beside another user's 64
// sleeping copies of an interpreter, as many with a kernel's arguments, 16 processes with odd files of a Python's name,
// or 17 kernels on file systems that fell silent, and `tracer kernels` lists it. The bound is for a machine that runs
// all other tests at the same time; docs/security-trials.md has the seconds of many tries.
func TestAgentBeside(t *testing.T) {
	together(t)
	require(t)
	needModules(t, "ipykernel", "jupyter_client")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, attack := range [][]string{nil, {"copies", "64"}, {"claims", "64"}, {"odd", "16"}, {"silent", "17"}} {
		args := []string{"--pid", "--fork", "--mount-proc", "--kill-child", python(),
			filepath.Join(workloads, "run_attacks.py"), binary, "60", "1"}
		cmd := exec.Command("unshare", append(args, attack...)...)
		cmd.Env = append(os.Environ(), "SERVES_FUSE="+self)
		out, err := cmd.CombinedOutput()
		t.Logf("%v: %s", attack, out)
		if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
			t.Errorf("%v: %v", attack, err)
		}
	}
}

// TestKernelsBesideSilence: `tracer kernels` lists another user's Python beside two with an interpreter on a file
// system that does not answer, and ends.
func TestKernelsBesideSilence(t *testing.T) {
	together(t)
	server := startFUSE(t, "/")
	var silent []int
	for range 2 {
		pid, _ := server.startShell("pass")
		silent = append(silent, pid)
	}
	other := exec.Command("setpriv", "--reuid=61112", "--regid=61112", "--clear-groups", python(), "-S", "-c",
		"import time; time.sleep(3600)")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	until(t, "setpriv has become Python", func() bool {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", other.Process.Pid))
		return !bytes.HasPrefix(command, []byte("setpriv"))
	})
	server.hang()
	began := time.Now()
	var all []struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(output(t, "kernels", "--all", "--format", "json"), &all); err != nil {
		t.Fatal(err)
	}
	t.Logf("after %v", time.Since(began))
	has := func(pid int) bool {
		for _, one := range all {
			if one.PID == pid {
				return true
			}
		}
		return false
	}
	if !has(other.Process.Pid) || has(silent[0]) || has(silent[1]) {
		t.Errorf("it lists %v, which is to have %d, and not %v", all, other.Process.Pid, silent)
	}
}

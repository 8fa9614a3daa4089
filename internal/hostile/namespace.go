package hostile

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const inNamespace = "IPYTRACER_TEST_IN_NAMESPACE"

// InPIDNamespace runs the test again, in a new process in a pid namespace of its own, where no other program takes
// pids. It reports whether this process is the new one. The test must return at once if it is not. It needs root.
func InPIDNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if os.Geteuid() != 0 && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
		t.Skip("needs root")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS,
		Unshareflags: unix.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// NextPID makes Linux give this pid to the next process or thread of the pid namespace.
func NextPID(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
		t.Fatal(err)
	}
}

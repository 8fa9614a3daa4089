package serving

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/packets"
)

// inNamespace is set for a test that runs again in a pid namespace of its own, where it says which pid comes next.
const inNamespace = "IPYTRACER_TEST_IN_NAMESPACE"

// TestPeerWithReusedPID: a process that has the pid of the one that connected, and is the same user's, is not taken for it.
func TestPeerWithReusedPID(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
		identifyReused(t)
		return
	}
	if os.Geteuid() != 0 && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
		t.Skip("needs root")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestPeerWithReusedPID$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Unshareflags: unix.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func identifyReused(t *testing.T) {
	r := &rig{t: t, folder: t.TempDir()}
	l, err := listen(r.folder, packets.Refuse)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, _ := r.peer("exit")
	_ = peer.Run()
	conn, err := l.accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cred, err := credentials(conn)
	if err != nil || int(cred.Pid) != peer.Process.Pid {
		t.Fatalf("who connected: %+v, %v, want %d", cred, err, peer.Process.Pid)
	}
	startAs(t, peer.Process.Pid)
	if p, err := identify(conn); !errors.Is(err, errGone) {
		t.Errorf("it is taken for %+v: %v", p, err)
	}
}

// startAs starts a process that has this pid.
func startAs(t *testing.T, pid int) {
	t.Helper()
	for range 100 { // a thread of this program may take it
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if cmd.Process.Pid == pid {
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			return
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Fatalf("no process got pid %d", pid)
}

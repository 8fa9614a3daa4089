package serving

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"ipytracer/internal/host/packets"
	"ipytracer/internal/hostile"
)

// TestPeerWithReusedPID: a process that has the pid of the one that connected, and is the same user's, is not taken for
// it.
func TestPeerWithReusedPID(t *testing.T) {
	if hostile.InPIDNamespace(t) {
		identifyReused(t)
	}
}

func identifyReused(t *testing.T) {
	r := &rig{t: t, folder: t.TempDir()}
	l, err := listen(r.folder, SocketName, packets.Refuse)
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
		hostile.NextPID(t, pid)
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

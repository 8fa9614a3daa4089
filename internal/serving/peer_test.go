package serving

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

// TestMain also runs the processes that connect in the tests: their task is in the environment.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == PorterCommand {
		AwaitKill()
		os.Exit(0)
	}
	if folder, does, ok := strings.Cut(os.Getenv("IPYTRACER_TEST_PEER"), " "); ok {
		if err := actAs(folder, does); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func actAs(folder, does string) error {
	if does == "send" { // on an inherited descriptor
		return converseOn(3)
	}
	if way, ok := strings.CutPrefix(does, "attack "); ok {
		return attack(folder, way)
	}
	if how, ok := strings.CutPrefix(does, "auto "); ok {
		return sayThere(folder, how)
	}
	if does == "another" {
		// Behind it, a program that is executed makes a process that the user may look into.
		if err := errors.Join(unix.Setresuid(65534, 65534, 65534),
			unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)); err != nil {
			return err
		}
	}
	fd, err := connect(folder)
	if err != nil {
		return err
	}
	switch does {
	case "exit":
		_ = unix.Send(fd, []byte(start), unix.MSG_NOSIGNAL)
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	case "become":
		if err := unix.Setresuid(65534, 65534, 65534); err != nil {
			return err
		}
	case "exec":
		if err := unix.Dup2(fd, 3); err != nil {
			return err
		}
		return unix.Exec("/proc/self/exe", os.Args, []string{"IPYTRACER_TEST_PEER=" + folder + " send"})
	}
	err = converseOn(fd)
	_, _ = os.Stdin.Read(make([]byte, 1))
	return err
}

func converseOn(fd int) error {
	if err := unix.Send(fd, []byte(start), unix.MSG_NOSIGNAL); err != nil {
		return err
	}
	a, _, err := hear(fd)
	fmt.Printf("heard %v %q\n", a.OK, a.Error)
	return err
}

// peer is another process that does something with the server.
func (r *rig) peer(does string, files ...*os.File) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "IPYTRACER_TEST_PEER="+r.folder+" "+does)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, files
	return cmd, out
}

// TestPeerThatEnds: one that is gone when it is looked at has no session.
func TestPeerThatEnds(t *testing.T) {
	r := serve(t, 4)
	for range 20 {
		cmd, _ := r.peer("exit")
		_ = cmd.Run()
	}
	r.ask(stop) // by now they have been answered, or will be refused: they are gone
	for _, p := range r.peers() {
		if _, err := (process.FS{}).Identity(p.PID); err == nil && p.PID != os.Getpid() {
			t.Errorf("a session of %+v, which lives", p)
		}
	}
}

// TestPeerThatExecutes: after it has executed a program, the peer is the same process, of the same user, and has the
// session.
func TestPeerThatExecutes(t *testing.T) {
	r := serve(t, 4)
	cmd, out := r.peer("exec")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "heard true") {
		t.Fatalf("%v: %s", err, out)
	}
	if p := r.peers(); len(p) != 1 || p[0].PID != cmd.Process.Pid {
		t.Errorf("sessions of %+v", p)
	}
}

// TestPeerThatBecomesAnother: a process with other rights than when it connected has no session.
func TestPeerThatBecomesAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	r := serve(t, 4)
	cmd, out := r.peer("become")
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "another user's") {
		t.Errorf("%v: %s", err, out)
	}
	if p := r.peers(); len(p) != 0 {
		t.Errorf("sessions of %+v", p)
	}
}

// TestForkAfterConnect: a connection that another process uses is that of the process that connected.
func TestForkAfterConnect(t *testing.T) {
	r := serve(t, 4)
	fd, err := connect(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	line := os.NewFile(uintptr(fd), "line")
	defer line.Close()
	cmd, out := r.peer("send", line)
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "heard true") {
		t.Fatalf("%v: %s", err, out)
	}
	if p := r.peers(); len(p) != 1 || p[0].Identity != self(t) {
		t.Errorf("sessions of %+v", p)
	}
}

// TestLinuxWithoutPeerDescriptors: a Linux without SO_PEERPIDFD is refused as a whole, before anybody asks.
func TestLinuxWithoutPeerDescriptors(t *testing.T) {
	if err := supported(unix.ENOPROTOOPT); !errors.Is(err, ErrOld) {
		t.Errorf("before Linux 6.5: %v", err)
	}
	if err := supported(unix.EMFILE); err == nil || errors.Is(err, ErrOld) {
		t.Errorf("where it is not known: %v", err)
	}
	if err := Supported(); err != nil && !errors.Is(err, ErrOld) {
		t.Error(err)
	}
}

// TestPeerWithMoreRights: a process that has a capability by its program's file has no session, and one of the same
// user without it has.
func TestPeerWithMoreRights(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("not root")
		}
		t.Skip("not root")
	}
	code, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, capable := range []bool{false, true} {
		r := serve(t, 4)
		program := filepath.Join(hostile.Folder(t), "peer")
		if err := os.WriteFile(program, code, 0o755); err != nil {
			t.Fatal(err)
		}
		if capable {
			if err := hostile.MakeCapable(program, unix.CAP_NET_RAW); err != nil {
				t.Fatal(err)
			}
		}
		cmd, out := r.peer("ask")
		cmd.Path, cmd.Dir = program, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := cmd.Run(); err != nil || strings.Contains(out.String(), "heard true") == capable ||
			strings.Contains(out.String(), "other rights than its user") != capable {
			t.Errorf("with a capability %v: %v: %s", capable, err, out)
		}
	}
}

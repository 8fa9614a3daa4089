package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ipytracer/tracer/process"
)

// serving is a server in a folder of its own.
type serving struct {
	t      *testing.T
	folder string
	cmd    *exec.Cmd
	ended  chan error
}

func startServer(t *testing.T, flags ...string) *serving {
	t.Helper()
	folder, err := os.MkdirTemp("", "ipytracer-serve-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &serving{t: t, folder: folder, cmd: exec.Command(binary, append([]string{"serve", "--folder", folder}, flags...)...), ended: make(chan error, 1)}
	s.cmd.Stderr, s.cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Signal(syscall.SIGTERM); <-s.ended; close(s.ended) })
	until(t, "the server listens", func() bool { _, err := os.Stat(s.socket()); return err == nil })
	return s
}

func (s *serving) socket() string { return filepath.Join(s.folder, "serve.sock") }

// session is the process that traces for a kernel, if there is one.
func (s *serving) session(pid int) (process.Identity, bool) {
	children, err := process.FS{}.Children(s.cmd.Process.Pid)
	if err != nil {
		return process.Identity{}, false
	}
	for _, c := range children {
		line, err := process.FS{}.Cmdline(c.PID)
		if err == nil && slices.Contains(line.Args, "attach") && line.Args[len(line.Args)-1] == fmt.Sprint(pid) {
			return c, true
		}
	}
	return process.Identity{}, false
}

// notebookOf is a notebook in a kernel of nobody's.
func notebookOf(t *testing.T, s *serving) *notebook {
	t.Helper()
	needModules(t, "ipykernel", "jupyter_client")
	env, told := companionAt(t, "/")
	home := nobodysFolder(t)
	if err := os.Chmod(filepath.Dir(told), 0o755); err != nil {
		t.Fatal(err)
	}
	driver, err := os.ReadFile("../testdata/workloads/run_notebook.py")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(home, "run_notebook.py")
	if err := os.WriteFile(script, driver, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(), script)
	cmd.Dir, cmd.Stderr = home, os.Stderr
	cmd.Env = append(env, "PATH=/usr/bin:/bin", "HOME="+home, "TMPDIR="+home, "IPYTRACER_SERVE="+s.socket())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return newNotebook(t, cmd)
}

// starts has the server begin a session. It is asked again where it does not answer within a fifth of a second, which a busy machine may exceed, and
// while it ends the session before.
func (n *notebook) starts() {
	n.t.Helper()
	until(n.t, "the server begins a session", func() bool {
		got := n.run("%tracer start")
		if strings.Contains(got, "no 'tracer serve' runs here") || strings.Contains(got, "try again in a moment") {
			return false
		}
		if !strings.Contains(got, "figures come under the cells") && !strings.Contains(got, "listens already") {
			n.t.Fatalf("%%tracer start shows %q", got)
		}
		return true
	})
}

// runsUntil runs a cell until something is shown below it.
func (n *notebook) runsUntil(cell, want string) {
	n.t.Helper()
	until(n.t, fmt.Sprintf("%q shows %q", cell, want), func() bool { return strings.Contains(n.run(cell), want) })
}

// TestServe: a notebook of an ordinary user asks for a session, has its figures, and ends it; the session has that user's rights. It
// begins another, which ends with the server; then there is none, and the notebook says what to type.
func TestServe(t *testing.T) {
	together(t)
	s := startServer(t)
	n := notebookOf(t, s)
	n.run("%load_ext ipytracer")
	n.starts()
	n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
	if got := n.run("%tracer start"); !strings.Contains(got, "listens already") {
		t.Errorf("again: %q", got)
	}
	session, ok := s.session(n.pid)
	if !ok {
		t.Fatal("no process traces")
	}
	allThreads(t, session.PID, fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", nobody), "CapEff:\t"+noCapability, "CapPrm:\t"+noCapability, "NoNewPrivs:\t1")
	until(t, "the session is over", func() bool {
		if got := n.run("%tracer stop"); !strings.Contains(got, "the session ends") && !strings.Contains(got, "no 'tracer serve' runs here") {
			_, ok := s.session(n.pid)
			return !ok
		}
		return false
	})
	n.starts()
	n.runsUntil("x = bytearray(32 << 20); del x", "need 32.0")
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.ended; err != nil {
		t.Errorf("the server: %v", err)
	}
	s.ended <- nil
	if _, err := os.Lstat(s.socket()); !os.IsNotExist(err) {
		t.Errorf("its socket is left: %v", err)
	}
	n.runsUntil("pass", "the tracer has ended")
	if got := n.run("%tracer start"); !strings.Contains(got, "no 'tracer serve' runs here; in a terminal, type: sudo tracer attach") {
		t.Errorf("without a server: %q", got)
	}
}

// TestServeEndsWithTheKernel: a session ends when the kernel does, and a server needs root and a folder of its own.
func TestServeEndsWithTheKernel(t *testing.T) {
	together(t)
	s := startServer(t)
	n := notebookOf(t, s)
	n.run("%load_ext ipytracer")
	n.starts()
	n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
	if _, ok := s.session(n.pid); !ok {
		t.Fatal("no process traces")
	}
	if err := syscall.Kill(n.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the session is over", func() bool { _, ok := s.session(n.pid); return !ok })
	if out, err := exec.Command(binary, "serve", "--folder", s.folder).CombinedOutput(); exitStatus(t, err) != 3 || !strings.Contains(string(out), "a server runs already") {
		t.Errorf("a second one: %v: %s", err, out)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.folder, link); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, "serve", "--folder", link).CombinedOutput(); err == nil {
		t.Errorf("in a folder that is a link: %s", out)
	}
}

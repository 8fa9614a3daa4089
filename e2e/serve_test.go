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

	"ipytracer/internal/host/process"
)

// serving is a server in a folder of its own.
type serving struct {
	t       *testing.T
	folder  string
	reports string // the place of the sessions' reports, in a folder for each user
	cmd     *exec.Cmd
	ended   chan error
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
	reports := nobodysFolder(t)
	args := append([]string{"serve", "--folder", folder, "--reports", filepath.Join(reports, "%u")}, flags...)
	s := &serving{t: t, folder: folder, reports: filepath.Join(reports, "nobody"), cmd: exec.Command(binary, args...),
		ended: make(chan error, 1)}
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

// session returns the process that traces a kernel, if there is one.
func (s *serving) session(pid int) (process.Identity, bool) {
	children, err := process.FS{}.Children(s.cmd.Process.Pid)
	if err != nil {
		return process.Identity{}, false
	}
	for _, c := range children {
		line, err := process.FS{}.Proc(c.PID).Cmdline()
		if err == nil && slices.Contains(line.Args, "attach") && line.Args[len(line.Args)-1] == fmt.Sprint(pid) {
			return c, true
		}
	}
	return process.Identity{}, false
}

// isLeft waits until a session has left its report to the user nobody, the only one who may read it, and returns its
// text.
func (s *serving) isLeft(path string) (text string) {
	s.t.Helper()
	until(s.t, path+" is there", func() bool {
		whole, err := os.ReadFile(path)
		text = string(whole)
		return err == nil
	})
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil || st.Uid != nobody || st.Mode != syscall.S_IFREG|0o600 {
		s.t.Errorf("%s: %v, of user %d, mode %o", path, err, st.Uid, st.Mode)
	}
	return text
}

// reportOf returns the place that the notebook prints for the report of its session.
func (s *serving) reportOf(n *notebook) (path string) {
	s.t.Helper()
	until(s.t, "the notebook is told where its report will be", func() bool {
		_, rest, ok := strings.Cut(n.run("%tracer"), "its report will be in ")
		path = strings.TrimSpace(rest)
		return ok
	})
	if filepath.Dir(path) != s.reports {
		s.t.Fatalf("its report will be in %q", path)
	}
	return path
}

// notebookOf returns a notebook in a kernel of the user nobody.
func notebookOf(t *testing.T, s *serving) *notebook {
	t.Helper()
	return notebookIn(t, s, nobodysFolder(t))
}

// notebookIn returns a notebook in a kernel of the user nobody, with a home folder.
func notebookIn(t *testing.T, s *serving, home string) *notebook {
	t.Helper()
	needModules(t, "ipykernel", "jupyter_client")
	env, told := companionAt(t, "/")
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

// starts makes the server begin a session. It asks again if the server does not answer within a fifth of a second, as
// on a busy machine, or while the server is ending the session before.
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

// runsUntil runs a cell until its output has a text.
func (n *notebook) runsUntil(cell, want string) {
	n.t.Helper()
	until(n.t, fmt.Sprintf("%q shows %q", cell, want), func() bool { return strings.Contains(n.run(cell), want) })
}

// TestServe: a notebook of an ordinary user requests a session, has its figures, and ends it. The session has that
// user's rights. The notebook begins another, which ends with the server. Then there is none, and the notebook prints
// the command to type.
func TestServe(t *testing.T) {
	together(t)
	s := startServer(t)
	n := notebookOf(t, s)
	said := n.run("%load_ext ipytracer")
	if !strings.Contains(said, "no tracer listens yet; type in a cell: %tracer start") ||
		strings.Contains(said, "sudo") {
		t.Errorf("beside a server it says %q", said)
	}
	n.starts() // as the notebook says
	n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
	if got := n.run("%tracer start"); !strings.Contains(got, "listens already") {
		t.Errorf("again: %q", got)
	}
	report := s.reportOf(n)
	session, ok := s.session(n.pid)
	if !ok {
		t.Fatal("no process traces")
	}
	allThreads(t, session.PID, fmt.Sprintf("Uid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d", nobody), "CapEff:\t"+noCapability,
		"CapPrm:\t"+noCapability, "NoNewPrivs:\t1")
	until(t, "the session is over", func() bool {
		if got := n.run("%tracer stop"); !strings.Contains(got, "the session ends") &&
			!strings.Contains(got, "no 'tracer serve' runs here") {
			_, ok := s.session(n.pid)
			return !ok
		}
		return false
	})
	if text := s.isLeft(report); !strings.Contains(text, "x = bytearray(64 << 20); del x") ||
		!strings.Contains(text, "highest ") {
		t.Errorf("the report that is left: %q", text)
	}
	n.starts()
	n.runsUntil("x = bytearray(32 << 20); del x", "need 32.0")
	report = s.reportOf(n)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.ended; err != nil {
		t.Errorf("the server: %v", err)
	}
	s.ended <- nil
	if _, err := os.Lstat(s.socket()); !os.IsNotExist(err) {
		t.Errorf("its socket is left: %v", err)
	}
	if text := s.isLeft(report); !strings.Contains(text, "x = bytearray(32 << 20); del x") {
		t.Errorf("the report of a session that the server has ended: %q", text)
	}
	n.runsUntil("pass", "the tracer has ended; its report: "+report)
	if got := n.run("%tracer start"); !strings.Contains(got,
		"no 'tracer serve' runs here; in a terminal, type: sudo tracer attach") {
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
	report := s.reportOf(n)
	if err := syscall.Kill(n.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the session is over", func() bool { _, ok := s.session(n.pid); return !ok })
	if text := s.isLeft(report); !strings.Contains(text, "x = bytearray(64 << 20); del x") {
		t.Errorf("the report of a kernel that was killed: %q", text)
	}
	if out, err := exec.Command(binary, "serve", "--folder", s.folder).CombinedOutput(); exitStatus(t, err) != 3 ||
		!strings.Contains(string(out), "a server runs already") {
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

// TestServePytest runs a pytest without root beside a server. It prints a command, and has its figures when that is
// typed.
func TestServePytest(t *testing.T) {
	together(t)
	needModules(t, "pytest")
	s := startServer(t)
	env, told := companionAt(t, "/")
	if err := os.Chmod(filepath.Dir(told), 0o755); err != nil {
		t.Fatal(err)
	}
	home := nobodysFolder(t)
	if err := os.WriteFile(filepath.Join(home, "test_it.py"), []byte("def test_big():\n    x = b'x' * (64 << 20)\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	run := func(flags ...string) string {
		cmd := exec.Command(python(),
			append([]string{"-m", "pytest", "-p", "ipytracer.pytest_plugin", "-p", "no:cacheprovider"}, flags...)...)
		cmd.Dir, cmd.Env = home, append(env, "PATH=/usr/bin:/bin", "HOME="+home, "TMPDIR="+home,
			"IPYTRACER_SERVE="+s.socket())
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	const typed = "--ipytracer --ipytracer-start"
	if out := run("--ipytracer", "--ipytracer-wait=0"); !strings.Contains(out,
		"no tracer listens; type: pytest "+typed) {
		t.Errorf("it says %s", out)
	}
	if out := run(append(strings.Fields(typed), "--ipytracer-wait=120")...); !strings.Contains(out,
		"test_it.py::test_big  64.") {
		t.Errorf("as it says: %s", out)
	}
}

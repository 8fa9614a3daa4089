package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

// startsWithCompanion makes every kernel with that home load the companion as it starts.
func startsWithCompanion(t *testing.T, home string) {
	t.Helper()
	profile := filepath.Join(home, ".ipython", "profile_default")
	if err := os.MkdirAll(profile, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(profile, "ipython_config.py"),
		[]byte("c.InteractiveShellApp.extensions = ['ipytracer']\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(home, ".ipython"), profile} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServeAuto: a server traces every kernel. The first cell of a new kernel has its figures, and so has that of the
// next kernel, without any request by its user. Each leaves a report. A kernel that opts out has no session. A first
// cell may need some pages of files that the machine has taken back, so less than 1 MiB is left out of account.
func TestServeAuto(t *testing.T) {
	together(t)
	s := startServer(t, "--auto")
	home := nobodysFolder(t)
	startsWithCompanion(t, home)
	n := notebookIn(t, s, home)
	for i := range 2 {
		n.showsAt("x = b'x' * (64 << 20); del x", "In[2]  need 64.") // In[1] has read the kernel's pid
		report := s.reportOf(n)
		n.pid = n.asks(request{"restart": true}).PID
		if text := s.isLeft(report); !strings.Contains(text, "In[1]") ||
			!strings.Contains(text, "x = b'x' * (64 << 20); del x") {
			t.Errorf("kernel %d leaves %q", i+1, text)
		}
	}
	// The next kernel does not inherit this setting. This kernel's session began when the kernel started.
	n.run("import os; os.environ['IPYTRACER_AUTO'] = 'off'")
	n.showsAt("x = b'x' * (48 << 20); del x", "need 48.")
	session := func() bool { _, ok := s.session(n.pid); return ok }
	until(t, "its session ends", func() bool { n.run("%tracer stop"); return !session() })
	n.run("%reload_ext ipytracer")
	if n.run("pass"); session() {
		t.Error("one that was ended by its user is begun anew")
	}
}

// pretends is a process that announces itself as a kernel but is none, or ends soon.
const pretends = `
import json, os, socket, sys, time
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect(sys.argv[1])
line.send(b'{"ask": "auto"}')
does = sys.argv[2]
if does == "ends":
    os.kill(os.getpid(), 9)
print(line.recv(4096).decode(), flush=True)
if does == "executes":
    os.execv("/bin/sleep", ["sleep", "0.5"])
if does == "forks":
    for _ in range(20):
        if not os.fork():
            os._exit(0)
if does == "lies":      # it says that it has IPython's cells, and a line that is none
    for n in range(200):
        compile("", "<ipytracer:line %d 7>" % n, "exec")
        compile("x = 1", "<ipython-input-%d>" % n, "exec")
time.sleep(0.5)
`

// TestServeAutoCrowd: processes of many users that are no kernels, or end within a moment, cost the server nothing
// lasting: sessions, processes, descriptors; and a notebook beside them has its figures.
func TestServeAutoCrowd(t *testing.T) {
	together(t)
	s := startServer(t, "--auto", "--per-user", "3", "--in-all", "12")
	server := s.cmd.Process.Pid
	before := descriptors(t, server)
	home := nobodysFolder(t)
	startsWithCompanion(t, home)
	n := notebookIn(t, s, home)
	n.showsAt("x = b'x' * (64 << 20); del x", "need 64.")
	var wait sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range hostile.Attempts(24) {
		slots <- struct{}{}
		cmd := exec.Command("/usr/bin/python3", "-c", pretends, s.socket(),
			[]string{"ends", "executes", "forks", "lies"}[i%4])
		uid := uint32(61000 + i%5)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		wait.Add(1)
		go func() { defer wait.Done(); _ = cmd.Run(); <-slots }()
		if i%8 == 7 {
			n.showsAt(fmt.Sprintf("x = b'x' * (%d << 20); del x", 32+i), fmt.Sprintf("need %d.", 32+i))
		}
	}
	wait.Wait()
	own, ok := s.session(n.pid)
	if !ok {
		t.Fatal("the notebook has no session any more")
	}
	until(t, "nothing but the notebook's session is left", func() bool {
		children, err := process.FS{}.Children(server)
		return err == nil && len(children) == 1 && children[0] == own
	})
	n.showsAt("x = b'x' * (80 << 20); del x", "need 80.")
	if err := syscall.Kill(n.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the server has no more open than before", func() bool { return descriptors(t, server) <= before })
}

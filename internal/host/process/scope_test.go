package process

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// started starts a command that sleeps for a while, and returns it once it sleeps: before, its loader still changes its
// mappings.
func started(t *testing.T, cmd *exec.Cmd) Identity {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := live.Identity(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	hostile.Await(t, id.PID, "it sleeps", func() bool {
		st, err := live.Proc(id.PID).Stat()
		return err == nil && st.State == 'S'
	})
	return id
}

// orphan starts a process with a parent that has ended.
func orphan(t *testing.T, as *syscall.Credential) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	return pid
}

func scopeOf(t *testing.T, roots ...Identity) *Scope {
	t.Helper()
	s, err := ParseScope((&Scope{Roots: roots}).String())
	if err != nil || !slices.Equal(s.Roots, roots) {
		t.Fatalf("%+v has become %+v, %v", roots, s, err)
	}
	return s
}

// TestScopeIsTheTreeOfARoot: a root, the processes that it started, and its orphans are in; all others are out.
func TestScopeIsTheTreeOfARoot(t *testing.T) {
	root := started(t, exec.Command("sleep", "60"))
	child := started(t, exec.Command("sleep", "60"))
	self, err := live.Identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	left := orphan(t, nil)
	for name, c := range map[string]struct {
		roots []Identity
		pid   int
		in    bool
	}{
		"itself":              {[]Identity{root}, root.PID, true},
		"a child":             {[]Identity{self}, child.PID, true},
		"one of two roots":    {[]Identity{root, child}, child.PID, true},
		"an orphan":           {[]Identity{self}, left, true},
		"the parent":          {[]Identity{root}, self.PID, false},
		"who has the pid now": {[]Identity{{root.PID, root.StartTicks - 1}}, root.PID, false},
		"the first process":   {[]Identity{self}, 1, false},
		"all":                 {nil, 1, true},
	} {
		if err := scopeOf(t, c.roots...).check(c.pid); (err == nil) != c.in ||
			err != nil && !errors.Is(err, ErrNotPermitted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := scopeOf(t, self).check(1 << 30); !errors.Is(err, ErrNoProcess) {
		t.Errorf("nobody: %v", err)
	}
	if os.Geteuid() == 0 {
		other := orphan(t, &syscall.Credential{Uid: 65534, Gid: 65534})
		if err := scopeOf(t, self).check(other); !errors.Is(err, ErrNotPermitted) {
			t.Errorf("another user's orphan: %v", err)
		}
	}
	for _, bad := range []string{"", "1", "1:", "x:1", "0:1", "-1:1", "1:1,", "1:1,all"} {
		if s, err := ParseScope(bad); err == nil {
			t.Errorf("%q is %+v", bad, s)
		}
	}
}

// keptBy is a proc file system that has another side open everything, for a scope.
func keptBy(t *testing.T, scope *Scope) FS {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var sides []*net.UnixConn
	for _, fd := range pair {
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		sides = append(sides, c.(*net.UnixConn))
	}
	h := NewHelper(t.Context())
	h.conn = sides[0]
	h.tookOver.Store(true)
	go h.read(sides[0])
	s := newHelperServer(sides[1], scope)
	go func() { _ = s.Serve() }()
	return FS{Helper: h}
}

// TestHelperLooksIntoItsProcessAlone: a process can be looked into by way of a helper as it can be without one, and the
// helper looks into no other.
func TestHelperLooksIntoItsProcessAlone(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env, cmd.Dir = []string{"WANTED=yes", "OTHER=no"}, "/"
	root := started(t, cmd)
	stranger := started(t, exec.Command("sleep", "60"))
	fs := keptBy(t, scopeOf(t, root))
	maps, err := fs.Image(root.PID).Maps()
	want, err2 := live.Image(root.PID).Maps()
	if err != nil || err2 != nil || !slices.Equal(maps, want) {
		t.Errorf("maps: %v, %v: %v\nwant %v", err, err2, maps, want)
	}
	first := maps[0]
	checkKeptMemory(t, fs, root.PID, first)
	checkKeptFacts(t, fs, root.PID)
	checkKeptNames(t, fs, root.PID, first)
	for what, err := range refusals(fs, stranger.PID, first) {
		if !errors.Is(err, ErrNotPermitted) {
			t.Errorf("%s of a stranger: %v", what, err)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := fs.Image(root.PID).Maps(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("maps of one that has ended: %v", err)
	}
}

// checkKeptMemory compares the first mapping of a process in its file and in its memory, both by way of a helper.
func checkKeptMemory(t *testing.T, fs FS, pid int, first Mapping) {
	t.Helper()
	f, err := fs.Image(pid).OpenMapping(first)
	if err != nil {
		t.Fatal(err)
	}
	defer f.File.Close()
	memory, err := fs.Proc(pid).OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	inFile, inMemory := make([]byte, 64), make([]byte, 64)
	if _, err := f.File.ReadAt(inFile, int64(first.Offset)); err != nil {
		t.Error(err)
	}
	if _, err := memory.ReadAt(inMemory, int64(first.Start)); err != nil || !slices.Equal(inFile, inMemory) {
		t.Errorf("%v: %q in the file, %q in memory", err, inFile, inMemory)
	}
}

// checkKeptFacts checks the helper's facts about a process that has WANTED=yes in its environment and / as its folder.
func checkKeptFacts(t *testing.T, fs FS, pid int) {
	t.Helper()
	if v, err := fs.Proc(pid).Variables("WANTED", "NONE"); err != nil || len(v) != 1 || v["WANTED"] != "yes" {
		t.Errorf("%v %v", v, err)
	}
	dir, err := fs.Proc(pid).Cwd()
	exe, err2 := fs.Proc(pid).ExeName()
	if want, err3 := live.Proc(pid).ExeName(); errors.Join(err, err2, err3) != nil || dir != "/" || exe != want {
		t.Errorf("%q %v, %q %v, want %q %v", dir, err, exe, err2, want, err3)
	}
	if gpus, err := fs.Proc(pid).GPUs(); err != nil || len(gpus) != 0 || fs.Proc(pid).MayUseGPUs() {
		t.Errorf("%v %v", gpus, err)
	}
	if pids, err := fs.PIDs(); err != nil || !slices.Contains(pids, pid) || !slices.Contains(pids, 1) {
		t.Errorf("%v: %v", err, pids)
	}
}

// checkKeptNames opens files of a process by their names, by way of a helper: one that it maps, and one that is not
// there.
func checkKeptNames(t *testing.T, fs FS, pid int, first Mapping) {
	t.Helper()
	named, err := fs.Image(pid).OpenFile(first.Path)
	if err != nil || named.Mapping.File != first.File {
		t.Errorf("%+v %v", named, err)
	} else {
		named.File.Close()
	}
	if _, err := fs.Image(pid).OpenFile("/no/such file"); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// refusals are the helper's answers about a process that is not in its scope.
func refusals(fs FS, pid int, m Mapping) map[string]error {
	all := map[string]error{}
	_, all["maps"] = fs.Image(pid).Maps()
	_, all["memory"] = fs.Proc(pid).OpenMemory()
	_, all["variables"] = fs.Proc(pid).Variables("PATH")
	_, all["cwd"] = fs.Proc(pid).Cwd()
	_, all["program"] = fs.Proc(pid).ExeName()
	_, all["descriptors"] = fs.Proc(pid).GPUs()
	_, all["mapping"] = fs.Image(pid).OpenMapping(m)
	_, all["name"] = fs.Image(pid).OpenFile("/bin/sh")
	all["signal"] = fs.Helper.Signal(pid, unix.SIGTERM)
	return all
}

// TestHelperRefusesWrongRequests: requests that no correct program makes are refused.
func TestHelperRefusesWrongRequests(t *testing.T) {
	root := started(t, exec.Command("sleep", "60"))
	fs := keptBy(t, scopeOf(t, root))
	for _, r := range []helperRequest{
		{Op: "file", Name: "../1/mem"}, {Op: "file", Name: "root/etc/shadow"}, {Op: "file", Name: "fd/0"}, {Op: "file"},
		{Op: "link", Name: "root"},
		{Op: "link", Name: "fd/0"}, {Op: "near"}, {Op: "near", Open: openRequest{Path: "etc/passwd\x00"}},
		{Op: "signal", Signal: int(unix.SIGTERM)},
		{Op: "write"}, {Op: "read", Handle: 7}, {Op: "open", Open: openRequest{PID: -1, Path: "/etc/shadow"}},
		{Op: "near", Open: openRequest{PID: -1, Path: "/etc/shadow"}},
	} {
		if r.Open.PID == 0 {
			r.Open.PID = root.PID
		}
		if _, err := fs.Helper.askFact(&r, false); err == nil {
			t.Errorf("%+v: done", r)
		}
	}
	forNobody := helperRequest{Op: "open", Open: openRequest{Path: "/etc/shadow"}}
	if _, err := fs.Helper.askFact(&forNobody, false); err == nil {
		t.Error("opened for no process")
	}
}

// TestSignalsForTheRootAlone: a root, and only a root, gets the signals that are passed on.
func TestSignalsForTheRootAlone(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	root := started(t, cmd)
	text := make([]byte, 16)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Kill(child, unix.SIGKILL) }()
	scope := scopeOf(t, root)
	scope.Signals = true
	fs := keptBy(t, scope)
	if err := fs.Helper.Signal(child, unix.SIGTERM); !errors.Is(err, ErrNotPermitted) {
		t.Errorf("a child: %v", err)
	}
	if err := fs.Helper.Signal(root.PID, unix.SIGSTOP); err == nil {
		t.Error("SIGSTOP was sent")
	}
	if err := fs.Helper.Signal(root.PID, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", status)
	}
}

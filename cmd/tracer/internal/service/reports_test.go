package service

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/internal/serving"
)

// TestMain is also the process that stores a report, because the program starts itself for that.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keepCommand {
		keep := newKeepCommand(console.Console{In: os.Stdin})
		keep.SetArgs(os.Args[2:])
		if err := keep.Execute(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func peerOf(t *testing.T, uid uint32) serving.Peer {
	t.Helper()
	id, err := process.FS{}.Identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return serving.Peer{Identity: id, UID: uid, GID: uid}
}

// TestReportPlace: a report goes to a folder of the user. A user without a home, or in a container, gets none.
func TestReportPlace(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	p := peerOf(t, 0)
	for folder, want := range map[string]string{
		"":                         "",
		reportsFolder:              "/root/.local/state/ipytracer/20260203-040506-PID.txt",
		"/srv/reports/%u":          "/srv/reports/root/20260203-040506-PID.txt",
		"/srv/100%%/%u/../../../x": "/x/20260203-040506-PID.txt",
	} {
		if got := reportPlace(folder, p, at); got != strings.ReplaceAll(want, "PID", fmt.Sprint(p.PID)) {
			t.Errorf("%q: %q", folder, got)
		}
	}
	if got := reportPlace(reportsFolder, peerOf(t, 4_000_000_000), at); got != "" {
		t.Errorf("of a user that nobody knows: %q", got)
	}
	gone := p
	gone.PID = 1 << 22
	if got := reportPlace(reportsFolder, gone, at); got != "" {
		t.Errorf("of a process that has ended: %q", got)
	}
	for _, name := range []string{"20260203-040506-7.txt", "20260203-040506-4194304.txt"} {
		if !isReportName(name) {
			t.Errorf("%q is none", name)
		}
	}
	for _, name := range []string{
		"", "notes.txt", "20260203-040506.txt", "20260203-040506-0.txt", "20269999-040506-7.txt",
		"20260203-040506-7.txt.gz", "20260203-040506-x.txt", "20260203-040506--7.txt",
	} {
		if isReportName(name) {
			t.Errorf("%q is one", name)
		}
	}
	for _, wrong := range []string{"", "x", "%u/x", "../x"} {
		if _, err := checkReports(wrong); err == nil {
			t.Errorf("--reports %q is taken", wrong)
		}
	}
	if got, err := checkReports("off"); got != "" || err != nil {
		t.Errorf("off: %q, %v", got, err)
	}
}

// TestKeepReport: only the user can read a report and its folders, and their number is bounded; nothing else is
// touched.
func TestKeepReport(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, ".local", "state", "ipytracer")
	name := func(i int) string { return filepath.Join(folder, fmt.Sprintf("202602%02d-040506-7.txt", i+1)) }
	for i := range 25 {
		if err := keepReport(strings.NewReader(fmt.Sprint("report ", i)), name(i)); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			for _, other := range []string{"notes.txt", "20250101-000000-7.txt.mine"} {
				if err := os.WriteFile(filepath.Join(folder, other), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(folder, "20250101-000000-7.txt"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := os.ReadDir(folder)
	if err != nil || len(all) != maxReports+3 {
		t.Errorf("%d files, %v", len(all), err)
	}
	text, err := os.ReadFile(name(24))
	if err != nil || string(text) != "report 24" {
		t.Errorf("%q, %v", text, err)
	}
	if st, _ := os.Stat(name(24)); st.Mode() != 0o600 {
		t.Errorf("its mode is %v", st.Mode())
	}
	if st, _ := os.Stat(folder); st.Mode().Perm() != 0o700 {
		t.Errorf("the folder's mode is %v", st.Mode())
	}
	if _, err := os.Stat(name(4)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old one is there: %v", err)
	}
	if err := keepReport(strings.NewReader("x"), name(24)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("where one is: %v", err)
	}
	huge := name(26)
	if err := keepReport(strings.NewReader(strings.Repeat("x", 3<<20)), huge); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(huge); st.Size() > maxReport+int64(len(cutHere)) {
		t.Errorf("it has %d bytes", st.Size())
	}
}

// TestLeavingIsBounded: only a bounded part of a session's output is kept, and its end says that it was cut.
func TestLeavingIsBounded(t *testing.T) {
	l := &reportOutput{}
	for range 300 {
		if n, err := l.Write(make([]byte, 10_000)); n != 10_000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if l.text.Len() != maxReport || !l.cut {
		t.Errorf("%d bytes, cut: %v", l.text.Len(), l.cut)
	}
}

// TestReportOfAnother: the process that stores a report runs as the user and can write only where that user may: not
// through a link to root's folder, and not to another user's. A folder that does not answer delays nothing.
func TestReportOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	const uid = 65534
	home := t.TempDir()
	for _, dir := range []string{filepath.Dir(home), home} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own, roots := filepath.Join(home, "own"), filepath.Join(home, "roots")
	for dir, mode := range map[string]os.FileMode{own: 0o700, roots: 0o700} {
		if err := os.Mkdir(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Chown(own, uid, uid), os.Symlink(roots, filepath.Join(own, "link")),
		os.Lchown(filepath.Join(own, "link"), uid, uid))
	if err != nil {
		t.Fatal(err)
	}
	p := peerOf(t, uid)
	keep := func(path string) time.Duration {
		l := &reportOutput{}
		_, _ = l.Write([]byte("In[1]"))
		began := time.Now()
		l.store(slog.New(slog.DiscardHandler), p, path)
		return time.Since(began)
	}
	keep(filepath.Join(own, "state", "20260203-040506-7.txt"))
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(own, "state", "20260203-040506-7.txt"), &st); err != nil || st.Uid != uid ||
		st.Mode&0o777 != 0o600 {
		t.Errorf("its own: %v, of user %d, mode %o", err, st.Uid, st.Mode)
	}
	keep(filepath.Join(own, "link", "20260203-040506-7.txt"))
	keep(filepath.Join(own, "link", "new", "20260203-040506-7.txt"))
	keep(filepath.Join(roots, "20260203-040506-7.txt"))
	if all, err := os.ReadDir(roots); err != nil || len(all) != 0 {
		t.Errorf("in root's folder: %v, %v", all, err)
	}
	if _, err := os.Stat(filepath.Join(home, "20260203-040506-7.txt")); err == nil {
		t.Error("beside it")
	}
	_ = syscall.Mkfifo(filepath.Join(own, "20260203-040506-8.txt"), 0o600) // no process opens it
	if took := keep(filepath.Join(own, "20260203-040506-8.txt")); took > time.Minute {
		t.Errorf("a pipe in its place: %v", took)
	}
}

// TestKeeperThatHangs: a process that stores a report and hangs is killed after keepTimeout, or as soon as the session
// must be killed.
func TestKeeperThatHangs(t *testing.T) {
	before := keepProgram
	begun := filepath.Join(t.TempDir(), "begun") // the keeper waits until it is read
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	keepProgram = []string{"/bin/sh", "-c", "echo > " + begun + "; exec sleep 1000"}
	t.Cleanup(func() { keepProgram = before })
	for _, killed := range []bool{false, true} {
		l := &reportOutput{}
		_, _ = l.Write([]byte("In[1]"))
		over := make(chan struct{})
		go func() {
			defer close(over)
			l.store(slog.New(slog.DiscardHandler), peerOf(t, 0), "/x/y")
		}()
		if killed {
			if _, err := os.ReadFile(begun); err != nil {
				t.Fatal(err)
			}
			l.kill()
		}
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Fatalf("killed %v: it is waited for", killed)
		}
	}
}

// TestCrowdedFolder: a folder with very many files is not read to its end.
func TestCrowdedFolder(t *testing.T) {
	folder := t.TempDir()
	for i := range 10_001 {
		if err := os.Symlink("x", filepath.Join(folder, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	err := keepReport(strings.NewReader("x"), filepath.Join(folder, "20260203-040506-7.txt"))
	if !errors.Is(err, privileges.ErrCrowded) {
		t.Errorf("%v", err)
	}
}

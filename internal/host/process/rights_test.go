package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

const nobody = 65534

var asUser = &syscall.Credential{Uid: nobody, Gid: nobody}

// sleepAs copies sleep(1) to a file that gives whoever executes it something: a mode's bits, a group, or a capability.
func sleepAs(t *testing.T, name string, mode uint32, group int, capable bool) string {
	t.Helper()
	path := filepath.Join(hostile.Folder(t), name)
	hostile.Copy(t, "sleep", path, 0o755)
	// a new group takes bits of the mode away
	for _, err := range []error{os.Chown(path, 0, group), unix.Chmod(path, mode)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if capable {
		if err := hostile.MakeCapable(path, unix.CAP_NET_RAW); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// asNobodys is a command of an ordinary user's.
func asNobodys(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: asUser}, "/"
	return cmd
}

// awaitProgram waits until a process executes a program, and sleeps.
func awaitProgram(t *testing.T, pid int, program string) {
	t.Helper()
	hostile.Await(t, pid, "it executes "+program, func() bool {
		exe, _ := live.Proc(pid).ExeName()
		st, err := live.Proc(pid).Stat()
		return err == nil && exe == program && st.State == 'S'
	})
}

// TestGainedRights: a helper does not look into a process that has executed a program with more rights than its user,
// be it a root or a process that a root has started. It does look into one that has executed a program without.
func TestGainedRights(t *testing.T) {
	needRoot(t)
	setuid := sleepAs(t, "sleep", 0o4755, 0, false)
	for name, c := range map[string]struct {
		args []string
		in   bool
	}{
		"ordinary":                    {[]string{"sleep", "60"}, true},
		"a copy":                      {[]string{sleepAs(t, "sleep", 0o755, 0, false), "60"}, true},
		"a user namespace of its own": {[]string{"unshare", "--user", "--map-root-user", "sleep", "60"}, true},
		"set-user-ID":                 {[]string{setuid, "60"}, false},
		"set-group-ID":                {[]string{sleepAs(t, "sleep", 0o2755, 5, false), "60"}, false},
		"a capability":                {[]string{sleepAs(t, "sleep", 0o755, 0, true), "60"}, false},
		"not readable":                {[]string{sleepAs(t, "sleep", 0o711, 0, false), "60"}, false},
	} {
		user := RightsOf(nobody)
		id := started(t, asNobodys(c.args...))
		has, err := ReadRights(live, id.PID)
		if err != nil {
			t.Fatal(err)
		}
		need(t, c.in || !user.Covers(has), "needs a file system where programs can have further rights")
		self, err := live.Identity(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		asChild := scopeOf(t, self)
		asChild.marks[0].rights = user // it stands for a user's kernel
		asRoot := scopeOf(t, id)
		asRoot.Owner = &user.users[0]
		for how, scope := range map[string]*Scope{"a child": asChild, "a root": asRoot} {
			how = name + ", " + how
			fs := keptBy(t, scope)
			maps, err := fs.Image(id.PID).Maps()
			if c.in {
				if err != nil || len(maps) == 0 {
					t.Errorf("%s: %v", how, err)
				}
				continue
			}
			isClosed(t, how, scope, fs, id.PID)
		}
		if _, err := keptBy(t, scopeOf(t, self)).Image(id.PID).Maps(); err != nil {
			t.Errorf("%s, below a root of root's: %v", name, err)
		}
	}
}

// isClosed checks that a process is not looked into, and that its public facts are read.
func isClosed(t *testing.T, how string, scope *Scope, fs FS, pid int) {
	t.Helper()
	first, err := live.Image(pid).Maps()
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range refusals(fs, pid, first[0]) {
		if what != "signal" && !errors.Is(err, ErrNotPermitted) {
			t.Errorf("%s: %s: %v", how, what, err)
		}
	}
	if a, _, _ := newHelperServer(nil, scope).answer(&helperRequest{Op: "line", Open: openRequest{PID: pid}, Handle: 0},
		-1); a.Kind != "permission" {
		t.Errorf("%s: a descriptor: %+v", how, a)
	}
	for _, name := range public { // a /proc with hidepid shows them to the helper only
		f, err := fs.Helper.file(pid, name)
		if err != nil {
			t.Errorf("%s: %s: %v", how, name, err)
			continue
		}
		f.Close()
	}
}

// TestRightsGainedMeanwhile: a process is looked into until it executes a set-user-ID program, and from then on not:
// not even by files that were opened before.
func TestRightsGainedMeanwhile(t *testing.T) {
	needRoot(t)
	setuid := sleepAs(t, "sleep", 0o4755, 0, false)
	cmd := asNobodys("sh", "-c", "read line; exec "+setuid+" 60")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	root := started(t, cmd)
	fs := keptBy(t, scopeOf(t, root))
	before, err := fs.Image(root.PID).Maps()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := fs.Proc(root.PID).OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if _, err := memory.ReadAt(make([]byte, 8), int64(before[0].Start)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	awaitProgram(t, root.PID, setuid)
	now, err := live.Image(root.PID).Maps()
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range refusals(fs, root.PID, now[0]) {
		if what != "signal" && !errors.Is(err, ErrNotPermitted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, m := range now {
		if n, err := memory.ReadAt(make([]byte, 8), int64(m.Start)); n > 0 || err == nil {
			t.Errorf("%s is read by what was opened before: %d, %v", m.Path, n, err)
		}
	}
}

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// contents returns the files below a folder: owners, modes, targets of links, texts and times.
func contents(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		text, _ := os.ReadFile(path)
		target, _ := os.Readlink(path)
		fmt.Fprintf(&all, "%s %d:%d %v %q %q %v\n", path, st.Uid, st.Gid, info.Mode(), target, text, info.ModTime())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// lentInstaller is a user who may use root's rights by sudo: anns is the user's environment, roots is root's, others
// has a file of root's.
type lentInstaller struct {
	t                             *testing.T
	uid                           int
	anns, packages, roots, others string
	before                        string
}

func newLentInstaller(t *testing.T) *lentInstaller {
	t.Helper()
	folder, err := os.MkdirTemp("", "ipytracer-install-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	l := &lentInstaller{t: t, uid: 65533, anns: filepath.Join(folder, "anns"), roots: filepath.Join(folder, "roots"),
		others: filepath.Join(folder, "others")}
	for _, venv := range []string{l.roots, l.anns} {
		if out, err := exec.Command(python(), "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
			t.Fatalf("no environment is made: %v: %s", err, out)
		}
	}
	all, err := filepath.Glob(filepath.Join(l.anns, "lib", "python*", "site-packages"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%q %v", all, err)
	}
	l.packages = all[0]
	if err := errors.Join(os.Chmod(folder, 0o755), os.Mkdir(l.others, 0o755),
		os.WriteFile(filepath.Join(l.others, "__init__.py"), []byte("precious"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", fmt.Sprintf("%d:%[1]d", l.uid), l.anns).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.before = contents(t, l.others) + contents(t, l.roots)
	return l
}

// install runs `sudo tracer notebook install` as the user.
func (l *lentInstaller) install(venv string) (string, error) {
	cmd := exec.Command(binary, "notebook", "install", "--python", filepath.Join(venv, "bin", "python"))
	cmd.Env = append(os.Environ(), fmt.Sprintf("SUDO_UID=%d", l.uid), fmt.Sprintf("SUDO_GID=%d", l.uid),
		"PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// unchanged checks that root's files are as they were.
func (l *lentInstaller) unchanged(how string) {
	l.t.Helper()
	if now := contents(l.t, l.others) + contents(l.t, l.roots); now != l.before {
		l.t.Errorf("%s: another's files are\n%s\nbefore\n%s", how, now, l.before)
	}
}

// sweep removes everything that was installed in the user's environment.
func (l *lentInstaller) sweep() {
	l.t.Helper()
	left, _ := filepath.Glob(filepath.Join(l.packages, "ipytracer*"))
	for _, path := range append(left, filepath.Join(l.anns, "share", "jupyter", "labextensions", "ipytracer")) {
		if err := os.RemoveAll(path); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestSudoUserInstallsForThemselves: with sudo, the notebook's companion is installed only where the user may write,
// and no other user's file changes: not through the name of another user's environment, nor through links to another
// user's folder or file.
func TestSudoUserInstallsForThemselves(t *testing.T) {
	together(t)
	l := newLentInstaller(t)
	if out, err := l.install(l.roots); err == nil {
		t.Errorf("installed among root's: %s", out)
	}
	l.unchanged("root's environment")
	trap, theirs := filepath.Join(l.packages, "ipytracer"), filepath.Join(l.others, "__init__.py")
	own := func() error { return errors.Join(os.Mkdir(trap, 0o755), os.Chown(trap, l.uid, l.uid)) }
	for how, lay := range map[string]func() error{
		"a folder that is a link": func() error { return os.Symlink(l.others, trap) },
		"a file that is a link": func() error {
			return errors.Join(own(), os.Symlink(theirs, filepath.Join(trap, "__init__.py")))
		},
		"a file with a second name": func() error {
			return errors.Join(own(), os.Link(theirs, filepath.Join(trap, "__init__.py")))
		},
	} {
		l.sweep()
		// It looks as if the tracer had installed it earlier.
		mark := filepath.Join(l.packages, "ipytracer-0.dist-info")
		if err := errors.Join(lay(), os.MkdirAll(mark, 0o755),
			os.WriteFile(filepath.Join(mark, "INSTALLER"), []byte("tracer\n"), 0o644),
			os.Chown(mark, l.uid, l.uid)); err != nil {
			t.Fatal(err)
		}
		out, err := l.install(l.anns)
		t.Logf("%s: %v: %s", how, err, out)
		l.unchanged(how)
	}
	l.sweep()
	out, err := l.install(l.anns)
	info, missing := os.Stat(trap)
	if err != nil || missing != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(l.uid) {
		t.Errorf("among one's own: %v %v: %s", err, missing, out)
	}
}

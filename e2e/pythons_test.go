package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
)

// pythonsDir returns the folder in which scripts/pythons.sh builds the other Pythons.
func pythonsDir() string { return elftest.TreesFolder() }

// TestPythons runs the catalogue on the other Pythons (make test-pythons builds them): Debian's 3.9, 3.13, 3.14 and
// 3.15 in chroots with their own IPython and NumPy, and builds that are not Debian's. Terminals of the oldest and the
// newest run all of it, and with TRACER_PYTHONS=all so do those in between, which otherwise run only the cells that
// depend on the front end.
func TestPythons(t *testing.T) {
	together(t)
	for _, c := range []struct{ tree, version string }{
		{"bullseye", "3.9"}, {"trixie", "3.13"}, {"sid", "3.14"}, {"sid", "3.15"},
	} {
		p := inTree(c.tree, c.version)
		t.Run("python"+c.version, func(t *testing.T) {
			t.Parallel()
			p.need(t)
			drivers := []string{"run_kernel.py", "run_terminal.py"}
			if between := c.version != "3.9" && c.version != "3.15"; between &&
				os.Getenv("TRACER_PYTHONS") != "all" {
				drivers = drivers[:1]
				t.Run("shell cells in a terminal", func(t *testing.T) {
					q := p
					q.driver = "run_terminal.py"
					checkTruth(t, q, shellCells)
				})
			}
			checkBuild(t, "static, LTO, PGO: Debian's", p, drivers...)
		})
	}
}

// TestOtherBuilds runs the catalogue on builds of other makers: python-build-standalone (uv's Pythons), with the
// libraries of the Debian that has the same version.
func TestOtherBuilds(t *testing.T) {
	together(t)
	libraries := []string{"IPYTRACER_LIBRARIES=/usr/lib/python3/dist-packages"}
	t.Run("pbs311", func(t *testing.T) { // libpython3.11.so, clang, LTO
		t.Parallel()
		root := filepath.Join(pythonsDir(), "pbs311")
		needTree(t, root)
		checkBuild(t, "clang, shared, LTO: python-build-standalone",
			place{python: filepath.Join(root, "bin/python3.11"), env: libraries}, "run_kernel.py")
	})
	t.Run("pbs314", func(t *testing.T) { // static, clang, BOLT, tail-call interpreter
		t.Parallel()
		root, sid := filepath.Join(pythonsDir(), "pbs314"), filepath.Join(pythonsDir(), "sid")
		needTree(t, root)
		needTree(t, sid)
		enter(t, sid)
		bind(t, root, filepath.Join(sid, "opt/pbs314"))
		p := place{python: "/opt/pbs314/bin/python3.14", chroot: sid, env: libraries}
		checkBuild(t, "clang, static, BOLT, tail calls: python-build-standalone", p, "run_terminal.py")
	})
}

// needTree skips if a tree has not been built, and fails under TRACER_PYTHONS=all.
func needTree(t *testing.T, root string) {
	t.Helper()
	elftest.NeedTree(t, root)
}

// enter mounts the files of a workload into a chroot, and removes them at the end.
func enter(t *testing.T, root string) {
	t.Helper()
	for _, dir := range []string{"/proc", "/dev", "/sys", "/tmp"} {
		bind(t, dir, filepath.Join(root, dir))
	}
}

// bind mounts a folder elsewhere until the test ends.
func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	// Another test may detach the mount on the same folder between the lookup of its path and the mount: then it is
	// looked up again.
	err := error(syscall.ENOENT)
	for try := 0; try < 100 && errors.Is(err, syscall.ENOENT); try++ {
		err = syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, "")
	}
	if err != nil {
		t.Fatalf("bind %s: %v", to, err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(to, syscall.MNT_DETACH) })
}

// onPythons runs a check on this machine's Python and on others, by the tree that each is in, some at a time: no check
// depends on time.
func onPythons(t *testing.T, driver string, others [][2]string, check func(*testing.T, place)) {
	t.Helper()
	t.Run("host", func(t *testing.T) {
		t.Parallel()
		check(t, place{driver: driver})
	})
	for _, c := range others {
		t.Run(filepath.Base(c[1]), func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(pythonsDir(), c[0])
			needTree(t, root)
			enter(t, root)
			check(t, place{driver: driver, python: c[1], chroot: root})
		})
	}
}

// inTree returns the place of Debian's Python of a version in a tree.
func inTree(tree, version string) place {
	return place{python: "/usr/bin/python" + version, chroot: filepath.Join(pythonsDir(), tree)}
}

// with returns the place with another NumPy, which scripts/pythons.sh builds in the tree.
func (p place) with(numpy string) place {
	p.numpy = "/opt/numpy-" + numpy
	return p
}

// need skips the test if the place's Python is not there, and makes its chroot ready.
func (p place) need(t *testing.T) {
	t.Helper()
	if p.chroot == "" {
		return
	}
	needTree(t, filepath.Join(p.chroot, p.numpy))
	if _, err := os.Stat(filepath.Join(p.chroot, p.python)); err != nil {
		t.Skipf("%s has no %s: Debian has moved on", p.chroot, p.python)
	}
	enter(t, p.chroot)
}

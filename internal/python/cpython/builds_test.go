package cpython

import (
	"os"
	"path/filepath"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
)

// build is a real interpreter that tests run against.
type build struct {
	name    string
	tree    string // under PYTHONS_DIR; "" for the machine's own root
	chroot  bool   // the tree is a root file system
	exe     string // the program to run, in the tree
	elf     string // the file that defines the interpreter, in the tree; "" for exe
	minor   int
	ipython string // where IPython lies in another tree, for PYTHONPATH; "" if the build has its own
	extra   bool   // not made by scripts/pythons.sh: absent is fine
	bare    bool   // no sqlite3 can be loaded in it: IPython starts only as scripts start it
}

func builds() []build {
	const dist = "/usr/lib/python3/dist-packages"
	return []build{
		{name: "bookworm-3.11", exe: "/usr/bin/python3.11", minor: 11},
		{name: "bullseye-3.9", tree: "bullseye", chroot: true, exe: "/usr/bin/python3.9", minor: 9},
		{name: "trixie-3.13", tree: "trixie", chroot: true, exe: "/usr/bin/python3.13", minor: 13},
		{name: "plain-3.13", tree: "builds", chroot: true, exe: "/opt/plain313/bin/python3.13", minor: 13},
		{name: "shared-3.13", tree: "builds", chroot: true, exe: "/opt/shared313/bin/python3.13",
			elf: "/opt/shared313/lib/libpython3.13.so.1.0", minor: 13},
		{name: "o2-3.13", tree: "builds", chroot: true, exe: "/opt/o2313/bin/python3.13", minor: 13},
		{name: "lto-3.13", tree: "builds", chroot: true, exe: "/opt/lto313/bin/python3.13",
			elf: "/opt/lto313/lib/libpython3.13.so.1.0", minor: 13},
		{name: "conda-3.13", tree: "builds", chroot: true, exe: "/opt/conda313/bin/python3.13", minor: 13},
		{name: "clang-3.13", tree: "builds", chroot: true, exe: "/opt/clang313/bin/python3.13", minor: 13},
		{name: "musl-3.13", tree: "builds", chroot: true, exe: "/opt/musl313/bin/python3.13", minor: 13, bare: true},
		{name: "plain-3.13t", tree: "builds", chroot: true, exe: "/opt/plain313t/bin/python3.13", minor: 13},
		{name: "plain-3.9", tree: "builds-bullseye", chroot: true, exe: "/opt/plain39/bin/python3.9", minor: 9},
		{name: "plain-3.14", tree: "builds-sid", chroot: true, exe: "/opt/plain314/bin/python3.14", minor: 14},
		{name: "plain-3.14t", tree: "builds-sid", chroot: true, exe: "/opt/plain314t/bin/python3.14", minor: 14},
		{name: "sid-3.14", tree: "sid", chroot: true, exe: "/usr/bin/python3.14", minor: 14},
		{name: "sid-3.15", tree: "sid", chroot: true, exe: "/usr/bin/python3.15", minor: 15, extra: true},
		{name: "pbs-3.11", tree: "pbs311", exe: "/bin/python3.11", elf: "/lib/libpython3.11.so.1.0", minor: 11,
			ipython: dist},
		{name: "pbs-3.14", tree: "pbs314", exe: "/bin/python3.14", minor: 14,
			ipython: filepath.Join(pythonsDir(), "sid", dist)},
		{name: "pyenv-3.10", tree: pyenv("3.10.13"), exe: "/bin/python3.10", elf: "/lib/libpython3.10.so.1.0",
			minor: 10, ipython: dist, extra: true},
		{name: "pyenv-3.12", tree: pyenv("3.12.1"), exe: "/bin/python3.12", elf: "/lib/libpython3.12.so.1.0", minor: 12,
			ipython: filepath.Join(pythonsDir(), "trixie", dist), extra: true},
	}
}

func pythonsDir() string { return elftest.TreesFolder() }

func (b build) root() string {
	if b.tree == "" || filepath.IsAbs(b.tree) {
		return b.tree
	}
	return filepath.Join(pythonsDir(), b.tree)
}

// path is the ELF file seen from outside the tree.
func (b build) path() string {
	if b.elf != "" {
		return b.root() + b.elf
	}
	return b.root() + b.exe
}

// open opens the build, or skips the test where the build is absent. TRACER_PYTHONS=all forbids to skip.
func (b build) open(t *testing.T) *Binary {
	t.Helper()
	f, err := os.Open(b.path())
	if err != nil {
		if os.Getenv("TRACER_PYTHONS") == "all" && !b.extra {
			t.Fatalf("TRACER_PYTHONS=all, but %v (run scripts/pythons.sh)", err)
		}
		t.Skipf("%v (scripts/pythons.sh makes it)", err)
	}
	t.Cleanup(func() { f.Close() })
	bin, err := Open(f)
	if err != nil {
		t.Fatalf("open %s: %v", b.path(), err)
	}
	return bin
}

// eachBuild runs a test on every build that is there.
func eachBuild(t *testing.T, test func(t *testing.T, b build, bin *Binary)) {
	for _, b := range builds() {
		t.Run(b.name, func(t *testing.T) { test(t, b, b.open(t)) })
	}
}

// pyenv is where pyenv keeps a version.
func pyenv(version string) string {
	root := os.Getenv("PYENV_ROOT")
	if root == "" {
		home, _ := os.UserHomeDir()
		root = filepath.Join(home, ".pyenv")
	}
	return filepath.Join(root, "versions", version)
}

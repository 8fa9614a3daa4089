package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/model"
)

// TestBuilds runs the catalogue on builds of CPython as people make them (scripts/pythons.sh has their flags), with the
// libraries of the Debian that has the same version. Without TRACER_PYTHONS=all it runs only on the first: the others
// take long to build.
func TestBuilds(t *testing.T) {
	together(t)
	for _, c := range []struct{ tree, name, version, made string }{
		{"builds", "plain313", "3.13", "static, -O3: pyenv's default"},
		{"builds", "shared313", "3.13", "shared, -O3: pyenv with --enable-shared"},
		{"builds", "o2313", "3.13", "static, -O2"},
		{"builds", "lto313", "3.13", "shared, LTO, -O3"},
		{"builds", "conda313", "3.13",
			"static, LTO in one partition, -O2, -fno-plt, gc-sections, stripped: conda-forge's flags but for PGO"},
		{"builds", "clang313", "3.13", "clang, static, -O3"},
		{"builds-sid", "plain314", "3.14", "static, -O3: pyenv's default"},
		{"builds-bullseye", "plain39", "3.9", "static, -O3: pyenv's default"},
	} {
		if c.name != "plain313" && os.Getenv("TRACER_PYTHONS") != "all" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkBuild(t, c.made, built(t, c.tree, c.name, c.version), "run_kernel.py", "run_terminal.py")
		})
	}
}

// built returns the place of a build that scripts/pythons.sh makes in a tree.
func built(t *testing.T, tree, name, version string) place {
	t.Helper()
	root := filepath.Join(pythonsDir(), tree)
	needTree(t, filepath.Join(root, "opt", name))
	enter(t, root)
	return place{python: filepath.Join("/opt", name, "bin/python"+version), chroot: root}
}

// TestMusl: a build with another C library, into which nothing made for Debian's can be loaded: no NumPy, no ctypes, no
// SQLite. So the cells are those of a script, and have no figures to compare.
func TestMusl(t *testing.T) {
	together(t)
	if os.Getenv("TRACER_PYTHONS") != "all" {
		t.Skip("only with TRACER_PYTHONS=all: it takes long to make")
	}
	p := built(t, "builds", "musl313", "3.13")
	p.driver, p.env = "run_bare.py", []string{"IPYTRACER_NO_HISTORY=1"}
	t.Run("doctor", func(t *testing.T) { checkVerdict(t, p) })
	checkBare(t, p)
}

// TestSharedLibrary runs the catalogue on the libraries that Debian builds with LTO and PGO, like the official
// container images: on the newest version, and with TRACER_PYTHONS=all on all versions. libpython3.15.so compiles cells
// without Py_CompileStringObject; the probe is at the call of PySys_Audit.
func TestSharedLibrary(t *testing.T) {
	together(t)
	for _, c := range []struct{ tree, version string }{{"bullseye", "3.9"}, {"trixie", "3.13"}, {"sid", "3.14"},
		{"sid", "3.15"}} {
		if c.version != "3.15" && os.Getenv("TRACER_PYTHONS") != "all" {
			continue
		}
		t.Run(c.version, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(pythonsDir(), c.tree)
			needTree(t, root)
			library := filepath.Join(root, "usr/lib", elffile.Triplet, "libpython"+c.version+".so.1.0")
			if _, err := os.Stat(library); err != nil && c.tree != "sid" && os.Getenv("TRACER_PYTHONS") == "all" {
				t.Fatalf("TRACER_PYTHONS=all, but %v: remove %s, and make pythons builds it", err, root)
			} else if err != nil {
				t.Skipf("%s is not there: Debian has moved on, or the tree is older than this test", library)
			}
			enter(t, root)
			r := checkBuild(t, "shared, LTO, PGO: Debian's library",
				place{python: linked(t, library, c.version), chroot: root}, "run_kernel.py", "run_terminal.py")
			for _, probe := range r.Certificate.Probes {
				if c.version == "3.15" && probe.Name == "cell starts" &&
					(!strings.HasPrefix(probe.Site, "PySys_Audit+") || strings.Contains(probe.Site, "stepped")) {
					t.Errorf("cell starts: %s", probe.Site)
				}
			}
		})
	}
}

// program calls a library's main function. It has its own entry code: this machine's C library may be newer than the
// chroot's, and gcc's own entry code is for this machine's.
const program = `
int Py_BytesMain(int, char **);
void Py_Exit(int);
__attribute__((used)) static void run(long *stack) { Py_Exit(Py_BytesMain(stack[0], (char **)(stack + 1))); }
#ifdef __x86_64__
__asm__(".globl _start\n_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call run\n hlt");
#else
__asm__(".globl _start\n_start: mov x29, xzr\n mov x30, xzr\n mov x0, sp\n bl run\n brk 0");
#endif
`

// linked makes a Python from a library, in a folder that is visible in chroots.
func linked(t *testing.T, library, version string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ipytracer-shared-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	source, python := filepath.Join(dir, "main.c"), filepath.Join(dir, "python"+version)
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gcc", "-O1", "-nostdlib", source, "-o", python, "-Wl,--allow-shlib-undefined",
		library).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	return python
}

// checkBuild compares doctor's verdict on a build with an attach, and runs the catalogue in each front end. With
// TRACER_PYTHONS=all it also runs stacks and holders, and logs a row of the table in docs/pythons.md. It returns the
// last report.
func checkBuild(t *testing.T, made string, p place, drivers ...string) *model.Report {
	t.Helper()
	r := &model.Report{}
	all := os.Getenv("TRACER_PYTHONS") == "all"
	var figures compared
	in := func(name, driver string, check func(*testing.T, place)) string {
		q := p
		q.driver = driver
		if t.Run(name, func(t *testing.T) { check(t, q) }) {
			return "right"
		}
		return "**wrong**"
	}
	version, seen := strings.TrimPrefix(filepath.Base(p.python), "python"), true
	doctor := in("doctor", drivers[0], func(t *testing.T, q place) { seen = checkVerdict(t, q) })
	if !seen {
		t.Logf("| %s | %s | refused, as doctor says | | | | | %s |", made, version, doctor)
		return r
	}
	right := true
	for _, driver := range drivers {
		right = in(driver, driver, func(t *testing.T, q place) {
			r = checkTruth(t, q, nil)
			figures.add(r)
		}) == "right" && right
	}
	if all {
		stacks, holders := "–", "–" // their workloads need a kernel
		if slices.Contains(drivers, "run_kernel.py") {
			stacks, holders = in("stacks", "run_stacks.py", checkStacks), in("holders", "run_holders.py", checkHolders)
		}
		windows := "**wrong**"
		if right {
			windows = fmt.Sprintf("%d | %d | %d", figures.cells, figures.statements, figures.arrays)
		}
		t.Logf("| %s | %s | %s | %s | %s | %s |", made, version, windows, stacks, holders, doctor)
	}
	return r
}

// compared has the numbers of compared cells, statements and arrays.
type compared struct{ cells, statements, arrays int }

func (n *compared) add(r *model.Report) {
	var pids []int
	for _, w := range r.Windows {
		switch {
		case w.Kind == model.Session && !slices.Contains(pids, w.PID):
			pids = append(pids, w.PID)
		case w.Kind == model.Statement && w.Name != model.Hooks:
			n.statements++
		}
	}
	for _, pid := range pids {
		for _, c := range topCells(r, pid) {
			n.cells++
			if a := c.Meters["cpu.numpy"]; a.Peak > a.Start || a.Consumed != 0 {
				n.arrays++
			}
		}
	}
}

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ipytracer/model"
)

// arraySteps are statements, with the change that each makes to the bytes in NumPy's blocks of at least 1,024 bytes.
// The changes are computed from NumPy's documentation.
var arraySteps = []struct {
	statement string
	small     int64 // the part of the difference in blocks of less than 1,024 bytes
	delta     int64
}{
	{"a = np.empty(100_000)", 0, 800_000},
	{"b = np.zeros((1000, 100))", 0, 800_000},
	{"c = np.ones(50_000, np.float32)", 0, 200_000},
	{"d = np.zeros(10)", 80, 80},
	{"e = np.arange(128)", 0, 1024},
	{"f = np.arange(127)", 1016, 1016},
	{"z = np.zeros(1023, np.uint8); y = np.zeros(1024, np.uint8)", 1023, 2047},
	{"del d, e, f, z, y", -80 - 1016 - 1023, -80 - 1024 - 1016 - 1023 - 1024},
	{"a.resize(200_000, refcheck=False)", 0, 800_000},
	{"a.resize(50_000_000, refcheck=False)", 0, 398_400_000},
	{"a.resize(100, refcheck=False)", 800, 800 - 400_000_000},
	{"a.resize(90, refcheck=False)", -80, -80},
	{"a.resize(1000, refcheck=False)", -720, 8000 - 720},
	{"a.resize(1001, refcheck=False)", 0, 8},
	{"refused(lambda: a.resize(1 << 50, refcheck=False))", 0, 0},
	{"refused(lambda: np.empty(1 << 57, np.uint8))", 0, 0},
	{"refused(lambda: np.zeros(1 << 57, np.uint8))", 0, 0},
	{"g = np.fromiter(range(100_000), np.int64)", 0, 800_000},
	{"h = np.append(b, 1.0)", 0, 800_008},
	{"i = np.sort(c)", 0, 200_000},
	{"c.sort(kind='stable')", 0, 0},
	{"j = [np.empty(1000 + n, np.uint8) for n in range(0, 100)]", 1000 + 1023*12 - 276 + 11000, 0},
	{"del j", 0, 0},
	{"for n in range(3000): k = np.ones(10) + np.zeros(3)[0]", 80, 80},
	{"for n in range(3000): l = np.zeros(2000) * 2", 0, 16_000},
	{"work(np.empty); work(np.zeros)", 0, 0},
	{"del a, b, c, g, h, i, k, l", -80, -8008 - 800_000 - 200_000 - 800_000 - 800_008 - 200_000 - 80 - 16_000},
}

func init() { // adds blocks of sizes around the limit
	var small, all int64
	for n := int64(1000); n < 1100; n++ {
		all += n
		if n < 1024 {
			small += n
		}
	}
	for i := range arraySteps {
		switch {
		case strings.HasPrefix(arraySteps[i].statement, "j = "):
			arraySteps[i].small, arraySteps[i].delta = small, all
		case arraySteps[i].statement == "del j":
			arraySteps[i].small, arraySteps[i].delta = -small, -all
		}
	}
}

const arraysPrelude = `import sys, threading, time
import numpy as np
def refused(take):
    try:
        take()
        raise SystemExit('not refused')
    except (MemoryError, ValueError):
        pass
def work(make):
    def some():
        for n in range(500):
            x = make(1000 + n); y = make(20); x.resize(2000 + n, refcheck=False)
    threads = [threading.Thread(target=some) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
time.sleep(%v)
`

// TestArrays: cpu.numpy is right to the byte for every way to make arrays, while the probes in NumPy take over and
// afterwards; and, by the probes on PyTraceMalloc_Track, for a NumPy without a memory handler.
func TestArrays(t *testing.T) {
	together(t)
	for _, c := range []struct {
		tree, python string
		inside       bool
	}{{"", "", true}, {"bullseye", "/usr/bin/python3.9", false}, {"trixie", "/usr/bin/python3.13", true},
		{"sid", "/usr/bin/python3.14", true}, {"sid", "/usr/bin/python3.15", true}} {
		t.Run(filepath.Base(c.python), func(t *testing.T) {
			root := ""
			if c.tree != "" {
				root = filepath.Join(pythonsDir(), c.tree)
				needTree(t, root)
				enter(t, root)
			}
			for _, wait := range []float64{0, 2.5} {
				r := traceArrays(t, root, c.python, fmt.Sprintf(arraysPrelude, wait), c.inside, "--budget", "off")
				checkArrays(t, r, false, true)
				checkSums(t, r)
				if sites := probesOf(r, "numpy"); strings.Contains(sites, "PyTraceMalloc_Track") == c.inside {
					t.Errorf("probes on %s: NumPy's file was there ahead of its import", sites)
				}
				if sites := probesOf(r, "numpy"); strings.Contains(sites, "places in _multiarray_umath") != c.inside ||
					strings.Contains(sites, "no memory handler") == c.inside {
					t.Errorf("probes on %s", sites)
				}
			}
		})
	}
}

// probesOf returns the places of a group's probes, by the certificate.
func probesOf(r *model.Report, group string) string {
	for _, p := range r.Certificate.Probes {
		if p.Name == group {
			return p.Site
		}
	}
	return ""
}

// traceArrays runs the steps. inside: with probes in NumPy; otherwise NumPy reports to tracemalloc that a block is
// freed which it could not resize.
func traceArrays(t *testing.T, root, interpreter, prelude string, inside bool, flags ...string) *model.Report {
	t.Helper()
	var lines []string
	for _, s := range arraySteps {
		if !inside && strings.HasPrefix(s.statement, "refused(lambda: a.resize") {
			lines = append(lines, "pass")
		} else {
			lines = append(lines, s.statement)
		}
	}
	return traceStatements(t, root, interpreter, prelude, lines, flags...)
}

// traceStatements runs a cell with one statement a line, after a prelude.
func traceStatements(t *testing.T, root, interpreter, prelude string, lines []string, flags ...string) *model.Report {
	t.Helper()
	pid, run := startCellIn(t, root, interpreter, prelude+strings.Join(lines, "\n")+"\n")
	// There is room for all changes. On a busy machine the tracer reads late, and after a full ring has lost changes
	// the figures are rightly not exact.
	tr := attach(t, pid, append(flags, "--ring", "32768")...)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the target ends", func() bool { return syscall.Kill(pid, 0) != nil || ended(pid) })
	r, _ := tr.stop()
	if c := r.Certificate; c.Made != c.Delivered {
		t.Errorf("%d changes were made, %d arrived: %+v", c.Made, c.Delivered, c.Lost)
	}
	if cells := topCells(r, pid); len(cells) != 1 || cells[0].Status != model.OK {
		t.Fatalf("%d cells: %+v", len(cells), cells)
	}
	checkCertificate(t, r)
	return r
}

// checkArrays compares the difference of every statement. small: all blocks count; exactly: all figures must be exact.
func checkArrays(t *testing.T, r *model.Report, small, exactly bool) {
	t.Helper()
	first := 1 + strings.Count(arraysPrelude, "\n")
	consumed, exact := arrayLines(r)
	for i, step := range arraySteps {
		want := step.delta
		if !small {
			want -= step.small
		}
		if got, ok := consumed[first+i]; !ok || got != want || exactly && !exact[first+i] {
			t.Errorf("%s: %+d bytes, exact %v; want %+d", step.statement, got, exact[first+i], want)
		}
	}
}

// arrayLines returns the change of cpu.numpy by each line of a cell, in bytes, and whether it is exact.
func arrayLines(r *model.Report) (consumed map[int]int64, exact map[int]bool) {
	consumed, exact = map[int]int64{}, map[int]bool{}
	for _, w := range r.Windows {
		if w.Kind == "statement" {
			f := w.Meters["cpu.numpy"]
			consumed[w.Line] += f.Consumed
			exact[w.Line] = f.Exact
		}
	}
	return consumed, exact
}

// checkMarked checks that the figures of the cell and of later cells are not exact, because some memory may have been
// missed.
func checkMarked(t *testing.T, r *model.Report) {
	t.Helper()
	statements := 0
	for _, w := range r.Windows {
		f, ok := w.Meters["cpu.numpy"]
		if ok && f.Exact && (w.Kind == "cell" || w.Kind == "statement" && w.Line > strings.Count(arraysPrelude, "\n")) {
			t.Errorf("%s %s, line %d: %+v", w.Kind, w.Source, w.Line, f)
		}
		if w.Kind == "statement" {
			statements++
		}
	}
	if statements < len(arraySteps) {
		t.Errorf("%d statements", statements)
	}
}

// TestSmallArrays: with --small-arrays every block counts.
func TestSmallArrays(t *testing.T) {
	together(t)
	r := traceArrays(t, "", "", fmt.Sprintf(arraysPrelude, 0), false, "--budget", "off", "--small-arrays")
	checkArrays(t, r, true, true)
	checkSums(t, r)
	if sites := probesOf(r, "numpy"); strings.Contains(sites, "places in") {
		t.Errorf("probes on %s", sites)
	}
}

// handlerSource is a memory handler of a C extension (NEP 49): it takes every block with 64 bytes in front, so that a
// block allocated by one handler and freed by the other would be noticed at once.
const handlerSource = `
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION /* data handlers */
#include <numpy/arrayobject.h>
#include <stdlib.h>
#include <string.h>
#define FRONT 64
static void *own_malloc(void *context, size_t size) { char *p = malloc(size + FRONT); return p ? p + FRONT : NULL; }
static void *own_calloc(void *context, size_t count, size_t size)
{
	char *p = calloc(1, count * size + FRONT);
	return p ? p + FRONT : NULL;
}
static void *own_realloc(void *context, void *block, size_t size)
{
	char *p = realloc((char *)block - FRONT, size + FRONT);
	return p ? p + FRONT : NULL;
}
static void own_free(void *context, void *block, size_t size) { if (block) free((char *)block - FRONT); }
static PyDataMem_Handler handler = { "own", 1, { NULL, own_malloc, own_calloc, own_realloc, own_free } };
static PyObject *set(PyObject *self, PyObject *args)
{
	PyObject *capsule = PyCapsule_New(&handler, "mem_handler", NULL), *before = PyDataMem_SetHandler(capsule);
	Py_DECREF(capsule);
	return before;
}
static PyObject *reset(PyObject *self, PyObject *before) { return PyDataMem_SetHandler(before); }
static PyMethodDef methods[] = { { "set", set, METH_NOARGS, "" }, { "reset", reset, METH_O, "" }, { NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "ownhandler", "", -1, methods };
PyMODINIT_FUNC PyInit_ownhandler(void) { import_array(); return PyModule_Create(&module); }
`

// TestForeignHandler: blocks of a memory handler other than NumPy's own are counted from a moment after it is set. No
// figure is exact from then on, because blocks that were allocated in that moment may be live.
func TestForeignHandler(t *testing.T) {
	together(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "ownhandler.c")
	if err := os.WriteFile(source, []byte(handlerSource), 0o644); err != nil {
		t.Fatal(err)
	}
	build := `import subprocess, sysconfig, numpy; subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", ` +
		`"-I", sysconfig.get_paths()["include"], "-I", numpy.get_include(), "-o", "` +
		filepath.Join(dir, "ownhandler.so") + `", "` + source + `"], check=True)`
	if out, err := exec.Command(python(), "-c", build).CombinedOutput(); err != nil {
		t.Skipf("no extension can be built: %v: %s", err, out)
	}
	for _, wait := range []float64{0, 2.5} {
		prelude := strings.Replace(arraysPrelude, "time.sleep(%v)", "keep = np.ones(1000); sys.path.insert(0, '"+dir+
			"'); import ownhandler; time.sleep(%[1]v); before = ownhandler.set(); time.sleep(2.5)", 1)
		r := traceArrays(t, "", "", fmt.Sprintf(prelude, wait), false, "--budget", "off")
		checkArrays(t, r, false, false)
		checkMarked(t, r)
		if sites := probesOf(r, "numpy"); !strings.Contains(sites, "another memory handler") ||
			!strings.Contains(sites, "PyTraceMalloc_Track") {
			t.Errorf("probes on %s", sites)
		}
	}
}

// TestAnotherNumPy: a NumPy that was not on sys.path at the attach is seen from a moment after its module is mapped,
// and then by the probes in NumPy, too.
func TestAnotherNumPy(t *testing.T) {
	together(t)
	dir := t.TempDir()
	copied := `import glob, os, shutil, sys, numpy
own, there = os.path.dirname(numpy.__file__), sys.argv[1] + "/numpy"
core = "_core" if os.path.isdir(own + "/_core") else "core"
os.makedirs(there + "/" + core)
for inside in ("", core):
    for name in os.listdir(os.path.join(own, inside)):
        if name != core:
            os.symlink(os.path.join(own, inside, name), os.path.join(there, inside, name))
for module in glob.glob(os.path.join(there, core, "_multiarray_umath.*")):
    target = os.path.realpath(module)
    os.remove(module)
    shutil.copy(target, module)`
	if out, err := exec.Command(python(), "-c", copied, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	prelude := strings.Replace(arraysPrelude, "import sys, threading, time\n",
		"import sys, threading, time; sys.path.insert(0, '"+dir+"')\n", 1)
	r := traceArrays(t, "", "", fmt.Sprintf(prelude, 2.5), true, "--budget", "off")
	checkArrays(t, r, false, false)
	checkMarked(t, r)
	if sites := probesOf(r, "numpy"); !strings.Contains(sites, "places in _multiarray_umath") ||
		!strings.Contains(sites, "PyTraceMalloc_Track") {
		t.Errorf("probes on %s", sites)
	}
}

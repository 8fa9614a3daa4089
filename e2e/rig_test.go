package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ipytracer/internal/gpu"
	"ipytracer/internal/gpu/gputest"
	"ipytracer/internal/host/privileges"
	"ipytracer/tracer"
)

// Paths that all tests use.
var (
	binary    string // the tracer under test
	workloads string // testdata/workloads
	suite     string // a folder that is removed when all tests have run
)

// linkedIn returns flags of the linker that set variables of the tracer under test. They make a system call that the
// tracer has given up end the tracer; in a release such a call only fails, and tests could miss it. The names of
// packages come from types, because the linker silently ignores a variable that does not exist.
func linkedIn() string {
	flags := "-X " + reflect.TypeFor[privileges.Rule]().PkgPath() + ".denied=trap"
	startPatience := (time.Minute * slowness()).String()
	flags += " -X " + reflect.TypeFor[tracer.Session]().PkgPath() + ".startPatience=" + startPatience
	return flags + " -X " + reflect.TypeFor[gpu.CUDAState]().PkgPath() + ".Folder=$" + gputest.DevicesVariable
}

func TestMain(m *testing.M) {
	if folder, mountpoint, ok := strings.Cut(os.Getenv(serveFiles), ":"); ok {
		if err := serveFUSE(folder, mountpoint); err != nil {
			panic(err)
		}
		return
	}
	// `sudo make test` must not look like a user's sudo: the tests' files and processes belong to root
	for _, by := range []string{"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "PKEXEC_UID", "DOAS_USER"} {
		os.Unsetenv(by)
	}
	var err error
	if suite, err = os.MkdirTemp("", "ipytracer-e2e-"); err != nil {
		panic(err)
	}
	buildTracer()
	if workloads, err = filepath.Abs("../testdata/workloads"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(suite)
	os.Exit(code)
}

// buildTracer builds the tracer under test as `make build` does for users. If the folder TRACER_BUILT has a tracer, the
// tests use that one: an emulated machine has no Go (scripts/guest-tests.sh).
func buildTracer() {
	binary = filepath.Join(suite, "tracer")
	if folder := os.Getenv("TRACER_BUILT"); folder != "" {
		binary = filepath.Join(folder, "tracer")
		if _, err := os.Stat(binary); err == nil {
			return
		}
	}
	build := exec.Command("../scripts/build.sh", binary, binary+"-agent")
	build.Env = append(os.Environ(), "LDFLAGS="+linkedIn())
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		panic(fmt.Sprintf("build the tracer: %v", err))
	}
}

// patience is the time limit for work that takes a second or two on an idle machine; an emulated machine gets
// TRACER_SLOWNESS times as much. No test's result depends on it.
var patience = 3 * time.Minute * slowness()

// slowness returns how many times as long as usual everything takes on this machine: TRACER_SLOWNESS, or 1.
func slowness() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("TRACER_SLOWNESS")); err == nil && n > 0 {
		return time.Duration(n)
	}
	return 1
}

// python returns the interpreter of the drivers and, outside of chroots, of the kernels.
func python() string {
	if p := os.Getenv("TRACER_PYTHON"); p != "" {
		return p
	}
	return "/usr/bin/python3"
}

// require skips the test if real tracing is impossible; under TRACER_REQUIRE_BPF=1 it fails the test instead.
func require(t *testing.T) {
	t.Helper()
	lack := lacking()
	if lack == "" {
		return
	}
	if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
		t.Fatal("TRACER_REQUIRE_BPF=1, but: ", lack)
	}
	t.Skip(lack)
}

// together is [require] for a test that may run beside others. Most tests may, because they wait more than they
// compute. Tests that depend on time, on the effect of a budget, or on the machine's other processes use require; they
// run before the others, one after another. Call it first.
func together(t *testing.T) {
	t.Helper()
	t.Parallel()
	require(t)
}

// lacking returns the first requirement of real tracing that the machine lacks; "" for none.
var lacking = sync.OnceValue(func() string {
	if os.Geteuid() != 0 {
		return "not root"
	}
	if exec.Command(python(), "-c", "import IPython, numpy").Run() != nil {
		return python() + " has no IPython or NumPy"
	}
	return ""
})

// place is where a workload runs.
type place struct {
	driver string   // the program of testdata/workloads that runs the cells, such as run_kernel.py
	python string   // the interpreter of the cells, below chroot; "" for the driver's
	chroot string   // "" for none
	numpy  string   // the folder of another NumPy than the interpreter's own, below chroot
	extra  []string // arguments of the driver
	env    []string // variables of the driver, beside the test's own
	// otherAllocator: malloc is not the C library's.
	otherAllocator bool
	// mimalloc: Python's own allocator is mimalloc, as in a build without the GIL. It maps much memory at first, and
	// gives pages back at any time.
	mimalloc bool
}

// workload is a running driver. It waits before the first cell until [workload.run].
type workload struct {
	t       *testing.T
	place   place
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Scanner // of the driver's standard output
	stderr  bytes.Buffer
	out     string // the file of the results
	pid     int    // the process that runs the cells
	others  []int  // further processes to trace
	machine string // what [machineOf] returned, once the cells have run
}

// startWorkload starts a driver and waits until its IPython is up.
func startWorkload(t *testing.T, p place, cells []string) *workload {
	t.Helper()
	w := &workload{t: t, place: p, out: filepath.Join(t.TempDir(), "results.jsonl")}
	args := []string{filepath.Join(workloads, p.driver), "--out", w.out}
	if p.python != "" {
		args = append(args, "--python", p.python)
	}
	if p.chroot != "" {
		args = append(args, "--chroot", p.chroot)
	}
	if cells != nil {
		args = append(args, "--cells", strings.Join(cells, ","))
	}
	args = append(args, p.libraries(t)...)
	w.cmd = exec.Command(python(), append(args, p.extra...)...)
	w.cmd.Stderr = &w.stderr
	w.cmd.Env = append(os.Environ(), p.env...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		_ = w.in.Close() // Python notices a signal in front of a read only after the read
		_ = w.cmd.Wait()
	})
	w.lines = bufio.NewScanner(stdout)
	var ready struct {
		PID    int   `json:"pid"`
		Others []int `json:"others"`
	}
	w.read(&ready)
	w.pid, w.others = ready.PID, ready.Others
	return w
}

// read reads a line of JSON from the driver.
func (w *workload) read(target any) {
	w.t.Helper()
	if !w.lines.Scan() {
		_ = w.cmd.Wait()
		w.t.Fatalf("%s ended: %s", w.place.driver, w.stderr.String())
	}
	if err := json.Unmarshal(w.lines.Bytes(), target); err != nil {
		w.t.Fatalf("%s: %v in %q", w.place.driver, err, w.lines.Text())
	}
}

// run lets the cells run and returns the driver's results.
func (w *workload) run() []result {
	w.t.Helper()
	if _, err := io.WriteString(w.in, "go\n"); err != nil {
		w.t.Fatal(err)
	}
	var done struct {
		Cells int `json:"cells"`
	}
	w.read(&done)
	data, err := os.ReadFile(w.out)
	if err != nil {
		w.t.Fatal(err)
	}
	var results []result
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		if i == 0 {
			w.machine = machineOf(w.t, line)
			continue
		}
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			w.t.Fatal(err)
		}
		if r.Skipped == "" {
			results = append(results, r)
		} else {
			w.t.Logf("cell %s does not run here: %s", r.Name, r.Skipped)
		}
	}
	return results
}

// machineOf returns how this machine's Linux treats memory where versions of Linux differ, as JSON
// (testdata/workloads/machine.h); "" if the driver did not find out. line is the first one of the results.
func machineOf(t *testing.T, line []byte) string {
	t.Helper()
	var first struct {
		Session struct {
			Machine json.RawMessage `json:"machine"`
		} `json:"session"`
	}
	if err := json.Unmarshal(line, &first); err != nil {
		t.Fatal(err)
	}
	return string(first.Session.Machine)
}

// expect returns the expectations for the cells that ran, from the workload's catalogue.
func (w *workload) expect(cells []string, results []result) expectations {
	w.t.Helper()
	frontend := "kernel"
	if w.place.driver == "run_terminal.py" {
		frontend = "terminal"
	}
	args := []string{filepath.Join(workloads, "cells.py"), "--json", "--front-end", frontend, "--machine", w.machine}
	if cells != nil {
		args = append(args, "--cells", strings.Join(cells, ","))
	}
	data, err := exec.Command(python(), args...).Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var e expectations
	if err := json.Unmarshal(data, &e); err != nil {
		w.t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, r := range results {
		ran[r.Name] = true
	}
	kept := e.Cells[:0]
	for _, c := range e.Cells {
		if ran[c.Name] {
			if c.Objects && w.place.mimalloc {
				c.leastOnly()
			}
			kept = append(kept, c)
		}
	}
	e.Cells = kept
	return e
}

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
	"ipytracer/internal/host/confine"
	"ipytracer/tracer"
)

// binary is the tracer under test, workloads the folder of testdata/workloads, suite a folder that is removed when all
// tests have run.
var binary, workloads, suite string

// linkedIn returns the settings of the linker in the tracer under test. A system call that the tracer has given up
// fails; here it ends the tracer, so that none is missed. A type of each package names the package: the linker ignores
// a variable that does not exist.
func linkedIn() string {
	set := "-X " + reflect.TypeFor[confine.Rule]().PkgPath() + ".denied=trap"
	longer := (time.Minute * slowness()).String()
	set += " -X " + reflect.TypeFor[tracer.Session]().PkgPath() + ".startPatience=" + longer
	return set + " -X " + reflect.TypeFor[gpu.CUDAState]().PkgPath() + ".Folder=$" + gputest.DevicesVariable
}

func TestMain(m *testing.M) {
	if folder, mountpoint, ok := strings.Cut(os.Getenv(serveFiles), ":"); ok {
		if err := serveFUSE(folder, mountpoint); err != nil {
			panic(err)
		}
		return
	}
	// `sudo make test` is root's: so are the files of the tests, and the processes that they start.
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

// buildTracer builds the tracer under test as `make build` builds it for users. In TRACER_BUILT, a folder, it is built
// only if it is not there: a machine that is emulated has no Go (scripts/guest-tests.sh).
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

// patience is the time limit for work that takes a second or two on an idle machine, and an emulated one is given
// TRACER_SLOWNESS times as much. No result depends on it.
var patience = 3 * time.Minute * slowness()

// slowness returns TRACER_SLOWNESS, or 1: how many times as long as usual everything takes on this machine.
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

// require skips where real tracing is impossible; under TRACER_REQUIRE_BPF=1 it fails.
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

// together comes first in a test that may run beside others, as most may: it waits more than it computes. Tests that
// depend on time, on the effect of a budget, or on other processes on the machine use [require] instead, and run
// earlier, one after another.
func together(t *testing.T) {
	t.Helper()
	t.Parallel()
	require(t)
}

// lacking returns the requirements of real tracing that the machine lacks, or "".
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
	driver string // run_kernel.py or run_terminal.py
	python string // inside chroot
	chroot string
	extra  []string
	env    []string // of the driver, beside the test's own
	// otherAllocator: malloc is not the C library's.
	otherAllocator bool
	// mimalloc: Python's own memory is mimalloc's, as in a build without the GIL. It maps much at first and frees pages
	// at any time.
	mimalloc bool
}

// workload is a running driver, stopped before its first cell.
type workload struct {
	t      *testing.T
	place  place
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
	out    string
	pid    int
	others []int // further processes to trace
	// machine has the answers of the machine, once the cells have run: machineOf.
	machine string
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

func (w *workload) read(into any) {
	w.t.Helper()
	if !w.lines.Scan() {
		_ = w.cmd.Wait()
		w.t.Fatalf("%s ended: %s", w.place.driver, w.stderr.String())
	}
	if err := json.Unmarshal(w.lines.Bytes(), into); err != nil {
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

// machineOf returns what the machine of a session does with memory where kernels differ, in JSON
// (testdata/workloads/machine.h); "" where the driver does not ask.
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

// expect reads the expectations for the cells that ran, from the workload's own catalogue.
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

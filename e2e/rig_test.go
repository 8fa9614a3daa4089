package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ipytracer/report"
	"ipytracer/report/reporttest"
	"ipytracer/tracer/event"
)

// binary is the tracer under test, workloads the folder of testdata/workloads, suite one that is gone when all tests have run.
var binary, workloads, suite string

func TestMain(m *testing.M) {
	if folder, mountpoint, ok := strings.Cut(os.Getenv(serveFiles), ":"); ok {
		if err := serveFUSE(folder, mountpoint); err != nil {
			panic(err)
		}
		return
	}
	// `sudo make test` is root's: the files of the tests are, and so is what they start.
	for _, by := range []string{"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "PKEXEC_UID", "DOAS_USER"} {
		os.Unsetenv(by)
	}
	var err error
	if suite, err = os.MkdirTemp("", "ipytracer-e2e-"); err != nil {
		panic(err)
	}
	binary = filepath.Join(suite, "tracer")
	build := exec.Command("../scripts/build.sh", binary) // what `make build` gives users
	// A system call that the tracer has taken from itself fails; here it ends the tracer, so that none is missed.
	build.Env = append(os.Environ(), "LDFLAGS=-X ipytracer/tracer/confine.denied=trap")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		panic(fmt.Sprintf("build the tracer: %v", err))
	}
	if workloads, err = filepath.Abs("../testdata/workloads"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(suite)
	os.Exit(code)
}

// patience is how long something may take that takes a second or two on an idle machine. Nothing is judged by it.
const patience = 3 * time.Minute

// python is the interpreter the drivers and, outside chroots, the kernels run on.
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

// together says, first of all, that a test may run beside others, as most may: it waits more than it computes. Those that are about time,
// what a budget buys or what else there is on the machine have [require] instead, and run before, one after another.
func together(t *testing.T) {
	t.Helper()
	t.Parallel()
	require(t)
}

// lacking is what real tracing needs and this machine has not, "" where nothing is amiss.
var lacking = sync.OnceValue(func() string {
	if os.Geteuid() != 0 {
		return "not root"
	}
	if exec.Command(python(), "-c", "import IPython, numpy").Run() != nil {
		return python() + " has no IPython or NumPy"
	}
	return ""
})

// mark is what a workload measured of itself at one instant.
type mark struct {
	Label    string `json:"label"`
	NS       int64  `json:"ns"`
	PID      int    `json:"pid"`
	Mapped   int64  `json:"mapped"`
	Resident int64  `json:"resident"`
	Walk     bool   `json:"walk"`
	Settled  bool   `json:"settled"`
}

func (m mark) of(meter string) int64 {
	if meter == "cpu.mapped" {
		return m.Mapped
	}
	return m.Resident
}

// result is one cell as the driver saw it run.
type result struct {
	Name           string `json:"name"`
	Source         string `json:"source"`
	RequestedNS    int64  `json:"requested_ns"`
	IdleNS         int64  `json:"idle_ns"`
	ExecutionCount *int   `json:"execution_count"`
	Status         string `json:"status"`
	Expected       string `json:"expected"` // status, where the driver says so
	Error          string `json:"error"`
	Skipped        string `json:"skipped"`
	Marks          []mark `json:"marks"`
	// Draws is what an inline figure of run_figures.py takes at least.
	Draws int64 `json:"draws"`
	// Truth is what GPU rigs know of each meter by themselves; null where nothing can be known.
	Truth map[string]*startPeakEnd `json:"truth"`
	// Stacks are who called at each allocation of stacks.py.
	Stacks []calledAt `json:"stacks"`
	// Expect is what an audit must find of leaks.py.
	Expect []planted `json:"expect"`
	// Holders are who holds the arrays of holders.py, by their size.
	Holders map[event.Bytes]heldBy `json:"holders"`
	// Wanted is what has to be found of variables.py, and Dropped how many bytes went with one like it.
	Wanted  map[string]wantedVariable `json:"wanted"`
	Dropped map[string]int64          `json:"dropped"`
	// Noted is what lines of memory.py took.
	Noted []noted `json:"noted"`
	// Embedded says of a cell of run_embed.py that IPython.embed() has opened its shell.
	Embedded bool `json:"embedded"`
	// Markers are what the lines of a notebook say of themselves; Before and After what /proc says while the kernel is idle.
	Markers       []marker `json:"markers"`
	Before, After kernelMemory
	// Kernel is the process that ran a cell of run_server.py, Size what it made.
	Kernel int   `json:"kernel"`
	Size   int64 `json:"size"`
	// Between is the same from the cell's end to the next one's begin.
	Between map[string]*startPeakEnd `json:"between"`
}

// calledAt is an allocation of a size that no other has, and the frames at that moment.
type calledAt struct {
	Size   int64
	Frames []calledFrom
}

// UnmarshalJSON reads [size, [[function, file, line], …]].
func (c *calledAt) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Size, &c.Frames})
}

// UnmarshalJSON reads [kind, path, function].
func (h *heldBy) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Kind, &h.Path, &h.Function})
}

type calledFrom struct {
	Function, File string
	Line           int
}

// UnmarshalJSON reads [function, file, line].
func (c *calledFrom) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Function, &c.File, &c.Line})
}

func (r result) mark(label string) (mark, bool) {
	for _, m := range r.Marks {
		if m.Label == label {
			return m, true
		}
	}
	return mark{}, false
}

// expected is one cell as testdata/workloads/cells.py describes it.
type expected struct {
	Name           string                `json:"name"`
	Status         string                `json:"status"`
	ExecutionCount *int                  `json:"execution_count"`
	Statements     []int                 `json:"statements"`
	Ran            int                   `json:"ran"`
	Request        map[string]any        `json:"request"`
	Meters         map[string]allowances `json:"meters"`
	Hooks          map[string]allowances `json:"hooks"`
	Yields         bool                  `json:"yields"`  // gives up the GIL while it holds its memory
	Objects        bool                  `json:"objects"` // its memory is that of Python's objects
	Children       []struct {
		Label string `json:"label"`
		Base  string `json:"base"`
	} `json:"children"`
	Nested []struct {
		Source string `json:"source"`
	} `json:"nested"`
}

// leastOnly leaves of what the meters may show that nothing which was there is missing.
func (e *expected) leastOnly() {
	for meter, a := range e.Meters {
		if meter == "cpu.resident" {
			e.Meters[meter] = allowances{Mark: a.Mark, Above: 1 << 40}
		} else {
			delete(e.Meters, meter)
		}
	}
}

// allowances says what a meter may show in a cell.
type allowances struct {
	Mark  string  `json:"mark"`
	Above int64   `json:"above"`
	Rise  []int64 `json:"rise"`
	Kept  []int64 `json:"kept"`
}

type expectations struct {
	Cells       []expected `json:"cells"`
	Experiments []struct {
		Name string   `json:"name"`
		End  *string  `json:"end"`
		Peak []string `json:"peak"`
	} `json:"experiments"`
}

// place is where a workload runs.
type place struct {
	driver string // run_kernel.py or run_terminal.py
	python string // inside chroot
	chroot string
	extra  []string
	env    []string // of the driver, beside the test's own
	// otherAllocator: malloc is not the C library's.
	otherAllocator bool
	// mimalloc: Python's own memory is mimalloc's, which maps much at first and gives pages back when it likes, as that of a build
	// without the GIL is.
	mimalloc bool
}

// workload is a driver under way, stopped before its first cell.
type workload struct {
	t      *testing.T
	place  place
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
	out    string
	pid    int
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
		_ = w.cmd.Wait()
	})
	w.lines = bufio.NewScanner(stdout)
	var ready struct {
		PID int `json:"pid"`
	}
	w.read(&ready)
	w.pid = ready.PID
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

// run lets the cells run and returns what the driver saw.
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
			continue // the session
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

// expect reads what the workload's own catalogue promises of the cells that ran.
func (w *workload) expect(cells []string, results []result) expectations {
	w.t.Helper()
	frontend := "kernel"
	if w.place.driver == "run_terminal.py" {
		frontend = "terminal"
	}
	args := []string{filepath.Join(workloads, "cells.py"), "--json", "--front-end", frontend}
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

// trace is a tracer under way.
type trace struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr lockedBuffer
	ended  chan struct{} // closed once err is set
	err    error
}

// attach starts the tracer on a process and waits until every probe is in.
func attach(t *testing.T, pid int, flags ...string) *trace {
	t.Helper()
	return attachIn(t, nil, pid, flags...)
}

// attachIn does so in an environment of its own; nil is this process's.
func attachIn(t *testing.T, env []string, pid int, flags ...string) *trace {
	t.Helper()
	return traced(t, env, pid, "attach", flags...)
}

// traced starts a command that attaches, and waits until its probes are in.
func traced(t *testing.T, env []string, pid int, command string, flags ...string) *trace {
	t.Helper()
	return tracedBy(t, binary, env, pid, command, flags...)
}

func tracedBy(t *testing.T, binary string, env []string, pid int, command string, flags ...string) *trace {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	tr := &trace{t: t}
	args := append([]string{command, "--quiet", "--format", "json", "--ready-file", ready}, flags...)
	tr.cmd = exec.Command(binary, append(args, fmt.Sprint(pid))...)
	tr.cmd.Stdout, tr.cmd.Stderr, tr.cmd.Env = &tr.stdout, &tr.stderr, env
	tr.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := tr.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tr.ended = make(chan struct{})
	go func() {
		tr.err = tr.cmd.Wait()
		close(tr.ended)
	}()
	t.Cleanup(func() {
		_ = tr.cmd.Process.Kill()
		<-tr.ended
	})
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(ready); err == nil {
			return tr
		}
		select {
		case <-tr.ended:
			t.Fatalf("attach: %v: %s", tr.err, tr.stderr.String())
		case <-deadline:
			t.Fatalf("attach did not get ready: %s", tr.stderr.String())
		case <-time.After(2 * time.Millisecond): // look for the ready file again
		}
	}
}

// stop detaches and returns the report, which must be valid, and the exit status.
func (tr *trace) stop() (*report.Report, []byte) {
	tr.t.Helper()
	_ = tr.cmd.Process.Signal(os.Interrupt)
	return tr.wait(0)
}

func (tr *trace) wait(status int) (*report.Report, []byte) {
	tr.t.Helper()
	data := tr.output(status)
	reporttest.Validate(tr.t, data)
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		tr.t.Fatal(err)
	}
	return &r, data
}

// output is what it has printed once it has ended with a status.
func (tr *trace) output(status int) []byte {
	tr.t.Helper()
	<-tr.ended
	if got := exitStatus(tr.t, tr.err); got != status {
		tr.t.Fatalf("exit status %d, want %d: %s", got, status, tr.stderr.String())
	}
	return tr.stdout.Bytes()
}

// audit ends an audit and returns what it found.
func (tr *trace) audit(status int) *report.Audit {
	tr.t.Helper()
	_ = tr.cmd.Process.Signal(os.Interrupt)
	return readAudit(tr.t, tr.output(status))
}

// exitStatus is a command's exit status, from what Wait or Run returned.
func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// lockedBuffer collects output that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// said is what a program whose Output was asked for wrote to standard error, "" if it was not started.
func said(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

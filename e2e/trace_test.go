package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// trace is a running tracer.
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

// attachIn is attach with environment variables for the tracer; nil for those of this process.
func attachIn(t *testing.T, env []string, pid int, flags ...string) *trace {
	t.Helper()
	return traced(t, env, pid, "attach", flags...)
}

// traced starts a command of the tracer that attaches to a process, and waits until every probe is in.
func traced(t *testing.T, env []string, pid int, command string, flags ...string) *trace {
	t.Helper()
	return tracedBy(t, binary, env, pid, command, flags...)
}

// tracedBy is traced with another build of the tracer.
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

// tracedWorkload runs a workload under a tracer, from its first cell to its last.
func tracedWorkload(t *testing.T, p place, flags ...string) (w *workload, results []result, r *model.Report) {
	t.Helper()
	w = startWorkload(t, p, nil)
	tr := attach(t, w.pid, flags...)
	results = w.run()
	r, _ = tr.stop()
	return w, results, r
}

// tracedCell runs one cell under a tracer, until its process ends.
func tracedCell(t *testing.T, cell string, flags ...string) (pid int, r *model.Report) {
	t.Helper()
	pid, run := startCell(t, cell)
	tr := attach(t, pid, flags...)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, _ = tr.wait(0)
	return pid, r
}

// hostileCell runs a cell that is hostile to the tracer, and returns the report and the cell's window.
func hostileCell(t *testing.T, cell string, flags ...string) (*model.Report, model.Window) {
	t.Helper()
	pid, run := startCell(t, cell)
	tr := attach(t, pid, flags...)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the target ends", func() bool { return syscall.Kill(pid, 0) != nil || ended(pid) })
	r, _ := tr.stop()
	cells := topCells(r, pid)
	if len(cells) != 1 || cells[0].Status != model.OK {
		t.Fatalf("%d cells: %+v", len(cells), cells)
	}
	return r, cells[0]
}

// readReport returns the report in a file, which must be valid JSON of a report.
func readReport(t *testing.T, path string) *model.Report {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Validate(t, data)
	r, err := report.ReadJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eachEvent calls do for every event of a source, until the source ends.
func eachEvent(t *testing.T, source event.Source, do func(event.Event)) {
	t.Helper()
	if err := event.Each(t.Context(), source, do); err != nil {
		t.Fatal(err)
	}
}

// pause stops the tracer with SIGSTOP, and returns once all of its threads are stopped: a thread in a system call may
// go on for a moment.
func (tr *trace) pause() {
	tr.t.Helper()
	if err := tr.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		tr.t.Fatal(err)
	}
	until(tr.t, "the tracer is stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", tr.cmd.Process.Pid))
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if err == nil && !bytes.Contains(text, []byte(") T ")) {
				return false
			}
		}
		return true
	})
}

// stop interrupts the tracer, and returns the report and its JSON. The exit status must be 0, and the report valid.
func (tr *trace) stop() (*model.Report, []byte) {
	tr.t.Helper()
	_ = tr.cmd.Process.Signal(os.Interrupt)
	return tr.wait(0)
}

// wait waits until the tracer ends with an exit status, and returns the report, which must be valid, and its JSON.
func (tr *trace) wait(status int) (*model.Report, []byte) {
	tr.t.Helper()
	data := tr.output(status)
	reporttest.Validate(tr.t, data)
	r, err := report.ReadJSON(data)
	if err != nil {
		tr.t.Fatal(err)
	}
	reporttest.Timeline(tr.t, r)
	return r, data
}

// output waits until the tracer ends with an exit status, and returns its standard output.
func (tr *trace) output(status int) []byte {
	tr.t.Helper()
	<-tr.ended
	if got := exitStatus(tr.t, tr.err); got != status {
		tr.t.Fatalf("exit status %d, want %d: %s", got, status, tr.stderr.String())
	}
	return tr.stdout.Bytes()
}

// audit interrupts an audit, and returns its results. It must end with the exit status.
func (tr *trace) audit(status int) *model.Audit {
	tr.t.Helper()
	_ = tr.cmd.Process.Signal(os.Interrupt)
	return readAudit(tr.t, tr.output(status))
}

// exitStatus returns a command's exit status from the result of Wait or Run.
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

// said returns the standard error of a program from the error of [exec.Cmd.Output]; "" if the program was not started.
func said(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

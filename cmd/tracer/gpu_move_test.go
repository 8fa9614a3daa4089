package main

import (
	"bufio"
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

	"ipytracer/internal/gpu/gputest"
)

// holder is a process that holds memory of a stand-in for a GPU.
type holder struct {
	t          *testing.T
	cmd        *exec.Cmd
	in         io.Writer
	said       chan string
	dir, truth string
}

const heldBytes = 100 << 20

// buildCUDA builds the stand-in once for all tests.
var buildCUDA sync.Once

func startHolder(t *testing.T) *holder {
	t.Helper()
	needNVML(t)
	buildTracer(t)
	h := &holder{
		t: t, dir: filepath.Join(programDir, "cuda"), truth: filepath.Join(t.TempDir(), "truth"),
		said: make(chan string, 16),
	}
	buildCUDA.Do(func() {
		if err := os.Mkdir(h.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		gputest.CUDA(t, h.dir)
	})
	h.cmd = exec.Command(filepath.Join(h.dir, "holder"), fmt.Sprint(heldBytes))
	h.cmd.Env = gputest.CUDAEnviron(t, h.dir, h.truth, "")
	in, err1 := h.cmd.StdinPipe()
	out, err2 := h.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.in = in
	t.Cleanup(func() { _ = h.cmd.Process.Kill(); _ = h.cmd.Wait() })
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			h.said <- lines.Text()
		}
	}()
	h.says("ready")
	return h
}

const long = 2 * time.Minute

func (h *holder) says(want string) {
	h.t.Helper()
	select {
	case line := <-h.said:
		if line != want {
			h.t.Fatalf("the process says %q, want %q", line, want)
		}
	case <-time.After(long):
		h.t.Fatalf("the process does not say %q", want)
	}
}

// tries makes the process allocate memory. The process prints a line when it has the memory.
func (h *holder) tries() {
	h.t.Helper()
	if _, err := io.WriteString(h.in, "\n"); err != nil {
		h.t.Fatal(err)
	}
}

// goesOn checks that the process allocates memory.
func (h *holder) goesOn() {
	h.t.Helper()
	h.tries()
	h.says("went on")
}

// inState checks the state of the process, as the stand-in knows it.
func (h *holder) inState(want byte) {
	h.t.Helper()
	if state := h.state(); state != want {
		h.t.Fatalf("the process is in state %d, want %d", state, want)
	}
}

func (h *holder) state() byte {
	h.t.Helper()
	truth, err := os.ReadFile(h.truth)
	if err != nil {
		h.t.Fatal(err)
	}
	for at := 512; at+512 <= len(truth); at += 512 {
		pid := int(truth[at]) | int(truth[at+1])<<8 | int(truth[at+2])<<16 | int(truth[at+3])<<24
		if pid == h.cmd.Process.Pid {
			return truth[at+4]
		}
	}
	h.t.Fatal("the stand-in does not know the process")
	return 0
}

// gpu runs a command about the process to its end.
func (h *holder) gpu(script, verb string, flags ...string) (status int, out, errs string) {
	h.t.Helper()
	return gpuCommand(h.t, gputest.CUDAEnviron(h.t, h.dir, h.truth, script),
		append([]string{"gpu", verb, fmt.Sprint(h.cmd.Process.Pid)}, flags...)...)
}

// The stand-in's states.
const (
	standinRunning = iota
	standinLocked
	standinCheckpointed
	standinFailed
)

func TestYieldAndRestore(t *testing.T) {
	h := startHolder(t)
	pid := h.cmd.Process.Pid
	step := func(verb, want string) {
		t.Helper()
		if status, out, errs := h.gpu("", verb); status != 0 || !strings.Contains(out, want) {
			t.Fatalf("%s: status %d, %q %q", verb, status, out, errs)
		}
	}
	step("restore", "runs: there is nothing to bring back")
	step("yield", "its GPU memory is on the host, after ")
	h.inState(standinCheckpointed)
	h.tries()
	step("yield", "is on the host already; 'sudo tracer gpu restore "+fmt.Sprint(pid)+"' brings it back")
	if len(h.said) > 0 {
		t.Error("it went on without its memory")
	}
	step("restore", "its GPU memory is back, and it goes on, after ")
	h.says("went on")
	h.goesOn()
}

// TestYieldUndone: after any failure of the driver, the process runs, or the message says its state and a remedy.
func TestYieldUndone(t *testing.T) {
	h := startHolder(t)
	for _, c := range []struct {
		script, verb string
		status       int
		want         string
		state        byte
	}{
		{
			"fail Lock 600", "yield", 1, "cuCheckpointProcessLock: CUDA_ERROR_NOT_READY (its work on the GPUs has " +
				"not ended in time; give it longer with --timeout); the process runs", standinRunning,
		},
		{"fail Lock 999\nleave Lock 1", "yield", 1, "CUDA_ERROR_UNKNOWN; the process runs", standinRunning},
		{
			"fail Checkpoint 2", "yield", 1,
			"cuCheckpointProcessCheckpoint: CUDA_ERROR_OUT_OF_MEMORY; the process runs", standinRunning,
		},
		{
			"fail Checkpoint 801", "yield", 3, "CUDA_ERROR_NOT_SUPPORTED (the driver cannot move all of its memory",
			standinRunning,
		},
		{"fail Checkpoint 800", "yield", 3, "CUDA_ERROR_NOT_PERMITTED (the driver does not permit it", standinRunning},
		{
			"fail GetState 1", "yield", 1,
			"CUDA_ERROR_INVALID_VALUE (the process has loaded CUDA and not initialized it", standinRunning,
		},
		{"fail Init 999\nfail GetState 3", "yield", 1, "cuInit: CUDA_ERROR_UNKNOWN", standinRunning},
		{
			"fail Checkpoint 999\nfail Unlock 999", "yield", 1, "and undoing it: cuCheckpointProcessUnlock: " +
				"CUDA_ERROR_UNKNOWN; its memory is in place, and its calls of CUDA wait: 'sudo tracer gpu restore ",
			standinLocked,
		},
		{
			"", "yield", 1,
			"is locked already, by another tool, or by a tracer that was killed; its memory is in place", standinLocked,
		},
		{"fail Unlock 401", "restore", 1, "CUDA_ERROR_ILLEGAL_STATE; its memory is in place", standinLocked},
		{"", "restore", 0, "was locked, its GPU memory in place, and goes on", standinRunning},
		{
			"leave Checkpoint 2\nfail Restore 2", "yield", 1,
			"CUDA_ERROR_OUT_OF_MEMORY; its memory is on the host, and its calls of CUDA wait", standinCheckpointed,
		},
		{
			"fail Restore 2", "restore", 1, "CUDA_ERROR_OUT_OF_MEMORY (its GPU has no room: " +
				"'tracer gpu' lists who holds the memory); its memory is on the host", standinCheckpointed,
		},
		{"leave Restore 1", "restore", 1, "CUDA_ERROR_UNKNOWN; the process runs", standinRunning},
		{"leave Checkpoint 3", "yield", 1, "the driver cannot repair that: the process has to be ended", standinFailed},
		{"", "restore", 1, "cannot be moved; the driver cannot repair that", standinFailed},
	} {
		status, out, errs := h.gpu(c.script+"\n", c.verb)
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q, %s: status %d, %q %q", c.script, c.verb, status, out, errs)
		}
		h.inState(c.state)
	}
}

// TestYieldOfWhatIsStopped: the command refuses a stopped process, for which the driver would wait, and says what to
// type.
func TestYieldOfWhatIsStopped(t *testing.T) {
	h := startHolder(t)
	pid := h.cmd.Process.Pid
	if err := h.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("the driver needs it to run: 'kill -CONT %d' first\n", pid)
	for _, verb := range []string{"yield", "restore"} {
		if status, out, errs := h.gpu("", verb); status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %q %q", verb, status, out, errs)
		}
	}
	if err := h.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := h.gpu("", "yield"); status != 0 {
		t.Errorf("status %d, %q %q", status, out, errs)
	}
	h.inState(standinCheckpointed)
}

// TestYieldInterrupted: Ctrl-C in the middle leaves the process running.
func TestYieldInterrupted(t *testing.T) {
	for _, call := range []string{"Init", "Lock", "Checkpoint"} {
		h := startHolder(t)
		r, goOn := h.start(call, "yield")
		r.interrupt(t, os.Interrupt)
		goOn()
		if status := r.ends(t); status != 1 ||
			!strings.Contains(r.errs.String(), "interrupted; the process runs, its memory is where it was") {
			t.Errorf("%s: status %d: %s%s", call, status, &r.out, &r.errs)
		}
		h.inState(standinRunning)
		h.goesOn()
	}
}

// TestRestoreInterrupted: Ctrl-C does not end a restore, because the process could not run with half of its memory.
func TestRestoreInterrupted(t *testing.T) {
	h := startHolder(t)
	if status, _, errs := h.gpu("", "yield"); status != 0 {
		t.Fatal(errs)
	}
	r, goOn := h.start("Restore", "restore")
	r.interrupt(t, os.Interrupt)
	goOn()
	if status := r.ends(t); status != 0 || !strings.Contains(r.out.String(), "is back, and it goes on") {
		t.Errorf("status %d: %s%s", status, &r.out, &r.errs)
	}
	h.goesOn()
}

// TestMoveLeft: after a second Ctrl-C, or a killed tracer, no process waits. The worker finishes the driver's call.
func TestMoveLeft(t *testing.T) {
	for _, c := range []struct {
		call, verb string
		killed     bool
		state      byte // at the end
	}{
		{"Lock", "yield", false, standinRunning}, {"Lock", "yield", true, standinRunning},
		{"Checkpoint", "yield", false, standinCheckpointed}, {"Checkpoint", "yield", true, standinCheckpointed},
		{"Restore", "restore", false, standinRunning}, {"Restore", "restore", true, standinRunning},
	} {
		h := startHolder(t)
		if c.verb == "restore" {
			if status, _, errs := h.gpu("", "yield"); status != 0 {
				t.Fatal(errs)
			}
		}
		r, goOn := h.start(c.call, c.verb)
		if c.killed {
			_ = r.Process.Kill()
			r.ends(t)
		} else {
			r.interrupt(t, syscall.SIGTERM)
			if err := r.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if status := r.ends(t); status != 1 || !strings.Contains(r.errs.String(), "its state is not known yet") {
				t.Errorf("%+v: status %d: %s%s", c, status, &r.out, &r.errs)
			}
		}
		goOn()
		r.workersEnd(t)
		h.inState(c.state)
		if status, _, errs := h.gpu("", "restore"); status != 0 {
			t.Errorf("%+v: status %d: %s", c, status, errs)
		}
		h.goesOn()
	}
}

// TestYieldOfWhatEnds: the command says so if the process ends while its memory is moved.
func TestYieldOfWhatEnds(t *testing.T) {
	h := startHolder(t)
	r, goOn := h.start("Lock", "yield")
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
	goOn()
	if status := r.ends(t); status != 1 || !strings.Contains(r.errs.String(), "has ended meanwhile\n") {
		t.Errorf("status %d: %s%s", status, &r.out, &r.errs)
	}
}

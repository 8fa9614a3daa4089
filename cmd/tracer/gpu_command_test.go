package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/gpu/gputest"
)

// running is a command that has not ended.
type running struct {
	*exec.Cmd
	out, errs written
	workers   []int // pidfds of the processes that it has started
}

// written returns the output of a command so far.
type written struct {
	mu   sync.Mutex
	all  bytes.Buffer
	more chan struct{} // has room for one: there is output since it was last taken
}

func (b *written) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
	return b.all.Write(p)
}

func (b *written) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// interrupt sends a signal, and waits until the command has confirmed it, because Linux merges two pending signals.
func (r *running) interrupt(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	const answer = "Ctrl-C once more leaves without waiting\n"
	for late := time.After(long); !strings.Contains(r.errs.String(), answer); {
		select {
		case <-r.errs.more:
		case <-late:
			t.Fatalf("it does not say that it was interrupted: %s", &r.errs)
		}
	}
}

// start starts a command and waits until the driver has begun the call that the script delays.
func (h *holder) start(call, verb string) (r *running, goOn func()) {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "go-on")
	begun := openPipe(h.t, file+".begun")
	r = &running{Cmd: exec.Command(buildTracer(h.t), "gpu", verb, fmt.Sprint(h.cmd.Process.Pid))}
	r.Env = gputest.CUDAEnviron(h.t, h.dir, h.truth, "wait "+call+" "+file+"\n")
	r.errs.more = make(chan struct{}, 1)
	r.Stdout, r.Stderr = &r.out, &r.errs
	if err := r.Start(); err != nil {
		h.t.Fatal(err)
	}
	await(h.t, begun)
	r.findWorkers(h.t)
	return r, func() { gputest.Write(h.t, file, "") }
}

func (r *running) ends(t *testing.T) (status int) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- r.Wait() }()
	select {
	case <-ended:
		return r.ProcessState.ExitCode()
	case <-time.After(long):
		t.Fatalf("%s does not end", strings.Join(r.Args, " "))
	}
	return 0
}

// openPipe makes a named pipe, and returns its end for reading until the test is over.
func openPipe(t *testing.T, path string) int {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// await waits until a process has ended, by its pidfd, or until a pipe was opened for writing.
func await(t *testing.T, fd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for began := time.Now(); ; {
		n, err := unix.Poll(fds, int(max(0, long-time.Since(began)).Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			t.Fatalf("nothing came in %v: %v", time.Since(began), err)
		}
		if n > 0 {
			return
		}
	}
}

// findWorkers finds the processes that the command has started.
func (r *running) findWorkers(t *testing.T) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", r.Process.Pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list) // its thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			pid, _ := strconv.Atoi(child)
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				r.workers = append(r.workers, fd)
				t.Cleanup(func() { unix.Close(fd) })
			}
		}
	}
	if err != nil || len(r.workers) == 0 {
		t.Fatalf("it has no process that calls the driver: %v", err)
	}
}

// workersEnd waits until the processes that the command has started have ended.
func (r *running) workersEnd(t *testing.T) {
	t.Helper()
	for _, fd := range r.workers {
		await(t, fd)
	}
}

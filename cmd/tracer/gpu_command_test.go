package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ipytracer/internal/gpu/gputest"
)

// running is a command that has not ended.
type running struct {
	*exec.Cmd
	out, errs written
}

// written returns the output of a command so far.
type written struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *written) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *written) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// interrupt sends a signal, and waits until the command has confirmed it: two that arrive at once count as one.
func (r *running) interrupt(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	const answer = "Ctrl-C once more leaves without waiting\n"
	for deadline := time.Now().Add(long); !strings.Contains(r.errs.String(), answer); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not say that it was interrupted: %s", &r.errs)
		}
	}
}

// start starts a command and waits until the driver has begun the call that the script delays.
func (h *holder) start(call, verb string) (r *running, goOn func()) {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "go-on")
	r = &running{Cmd: exec.Command(buildTracer(h.t), "gpu", verb, fmt.Sprint(h.cmd.Process.Pid))}
	r.Env = gputest.CUDAEnviron(h.t, h.dir, h.truth, "wait "+call+" "+file+"\n")
	r.Stdout, r.Stderr = &r.out, &r.errs
	if err := r.Start(); err != nil {
		h.t.Fatal(err)
	}
	awaitFile(h.t, file+".begun")
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

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(long); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not there", path)
		}
	}
}

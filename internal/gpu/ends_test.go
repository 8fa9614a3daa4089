//go:build cgo

package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSilentDriverIsWaitedForOnce: a driver that hangs is waited for once, for the documented time. A later answer of
// it is dropped, and it is asked anew.
func TestSilentDriverIsWaitedForOnce(t *testing.T) {
	description, _ := standIn(t, machine)
	h := start(t, nil)
	s, err := h.Snapshot()
	says(t, s, err)
	gate := filepath.Join(filepath.Dir(description), "gate")
	if err := unix.Mkfifo(gate, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Snapshot(); !errors.Is(err, ErrSilent) {
		t.Fatal(err)
	}
	asked := h.asked
	for range 100 { // a hundred times the patience would be seen
		if _, err := h.Snapshot(); !errors.Is(err, ErrSilent) || h.asked != asked {
			t.Fatal(err, h.asked)
		}
	}
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(gate), open.Close()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if s, err = h.Snapshot(); !errors.Is(err, ErrSilent) || time.Now().After(deadline) {
			break
		}
	}
	says(t, s, err)
	if h.asked != asked+1 {
		t.Errorf("%d questions, want %d: what it says is of the time before it hung", h.asked, asked+1)
	}
}

// TestEndsWithWhoAsks: the helper ends though NVML hangs.
func TestEndsWithWhoAsks(t *testing.T) {
	description, _ := standIn(t, machine)
	h := start(t, nil)
	if err := unix.Mkfifo(filepath.Join(filepath.Dir(description), "gate"), 0o666); err != nil {
		t.Fatal(err)
	}
	pid := helperOf(t)
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	h.began = true // one second is enough to hang
	if _, err := h.Snapshot(); !errors.Is(err, ErrSilent) {
		t.Fatal(err)
	}
	h.Close()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000); n != 1 || err != nil {
		t.Fatal(n, err)
	}
}

// TestClosedWhileAsked: a session that ends does not wait for NVML to start.
func TestClosedWhileAsked(t *testing.T) {
	description, _ := standIn(t, machine)
	if err := unix.Mkfifo(filepath.Join(filepath.Dir(description), "gate"), 0o666); err != nil {
		t.Fatal(err)
	}
	h := start(t, nil)
	answered := make(chan error, 1)
	go func() {
		_, err := h.Snapshot()
		answered <- err
	}()
	h.Close()
	if err := <-answered; !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
}

// TestHelperDies: the error has the reason, and nothing is waited for.
func TestHelperDies(t *testing.T) {
	standIn(t, machine)
	h := start(t, nil)
	s, err := h.Snapshot()
	says(t, s, err)
	if err := unix.Kill(helperOf(t), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Snapshot(); !errors.Is(err, ErrEnded) {
			t.Fatal(err)
		}
	}
}

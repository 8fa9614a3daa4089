package windows

import (
	"cmp"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWaitStatus compares all statuses that a process can end with to what x/sys/unix makes of them.
func TestWaitStatus(t *testing.T) {
	for n := range uint32(1 << 16) {
		theirs := unix.WaitStatus(n)
		if !theirs.Exited() && !theirs.Signaled() {
			continue
		}
		want := ""
		if theirs.Signaled() {
			want = cmp.Or(unix.SignalName(theirs.Signal()), theirs.Signal().String())
		}
		if got := waitStatus(n).signal(); got != want {
			t.Errorf("%#x: %q, want %q", n, got, want)
		}
		if theirs.Exited() && waitStatus(n).exit() != theirs.ExitStatus() {
			t.Errorf("%#x: exit status %d, want %d", n, waitStatus(n).exit(), theirs.ExitStatus())
		}
	}
}

package limit

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
)

// unlimited is RLIM_INFINITY as sizes are kept here.
const unlimited = process.NoLimit

// proc is where processes are looked at. Limits are of living processes only.
var proc process.FS

// held is a process with a limit that is about to change: after the change the pidfd shows whether the pid was still
// its own.
type held struct{ *process.Handle }

func hold(id process.Identity) (held, error) {
	h, err := proc.OpenIdentity(id)
	return held{h}, err
}

// change sets the soft limit that decide returns for the present one, if it returns any. prlimit(2) takes a pid. If the
// process has ended by the time it returns, the pid may already have been another process's, and that one is relieved
// of the limit again.
func (h held) change(decide func(now unix.Rlimit) (soft uint64, err error)) (before unix.Rlimit, err error) {
	pid := h.Identity().PID
	if err := prlimit(pid, nil, &before); err != nil {
		return before, err
	}
	soft, err := decide(before)
	if err != nil || soft == before.Cur {
		return before, err
	}
	var had unix.Rlimit
	if err := prlimit(pid, &unix.Rlimit{Cur: soft, Max: before.Max}, &had); err != nil {
		return before, err
	}
	if ended, err := h.Exited(); err != nil || ended {
		var now unix.Rlimit
		if soft < had.Cur && prlimit(pid, nil, &now) == nil && now.Cur == soft {
			_ = prlimit(pid, &had, nil)
		}
		return before, &process.Error{PID: pid, Kind: process.ErrNoProcess}
	}
	return before, nil
}

func prlimit(pid int, set, got *unix.Rlimit) error {
	err := unix.Prlimit(pid, unix.RLIMIT_DATA, set, got)
	switch {
	case errors.Is(err, unix.EPERM):
		return &Error{PID: pid, Kind: ErrNoRights}
	case errors.Is(err, unix.ESRCH):
		return &process.Error{PID: pid, Kind: process.ErrNoProcess}
	case err != nil:
		return fmt.Errorf("process %d: limit: %w", pid, err)
	}
	return nil
}

// Error names a process that has no limit, and the reason.
type Error struct {
	PID  int
	Kind error
	Size int64 // bytes: mapped already, or the limit that stands against it; 0 if that explains nothing
}

func (e *Error) Error() string { return fmt.Sprintf("process %d: %v", e.PID, e.Kind) }

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

// imposed is a soft limit that was set, and the limit that was there before.
type imposed struct{ ours, before uint64 }

// impose sets a soft limit, marked by the program that sets it. The limit of a killed session counts as no limit
// before.
func impose(id process.Identity, bytes int64, mark uint64) (i imposed, err error) {
	h, err := hold(id)
	if err != nil {
		return i, err
	}
	defer h.Close()
	status, err := proc.Proc(id.PID).Status()
	if err != nil {
		return i, err
	}
	if status.DataBytes > bytes {
		return i, &Error{PID: id.PID, Kind: ErrMapped, Size: status.DataBytes}
	}
	was, err := h.change(func(now unix.Rlimit) (uint64, error) {
		owner, size := OwnerOf(sizeOf(now.Cur))
		switch {
		case sizeOf(now.Max) < bytes:
			return 0, &Error{PID: id.PID, Kind: ErrHard, Size: sizeOf(now.Max)}
		case owner == Other && size < bytes:
			return 0, &Error{PID: id.PID, Kind: ErrTighter, Size: size}
		}
		i.ours = thisMachine.marked(bytes, mark, now.Max)
		return i.ours, nil
	})
	i.before = was.Cur
	if owner, _ := OwnerOf(sizeOf(was.Cur)); owner == Session {
		i.before = was.Max
	}
	return i, err
}

func sizeOf(limit uint64) int64 { return int64(min(limit, math.MaxInt64)) }

// putBack sets a soft limit to its earlier value, if it still has the value that was set, and reports whether it had.
func putBack(id process.Identity, i imposed) (was bool, err error) {
	h, err := hold(id)
	if err != nil {
		return false, err
	}
	defer h.Close()
	_, err = h.change(func(now unix.Rlimit) (uint64, error) {
		if was = now.Cur == i.ours; !was {
			return now.Cur, nil
		}
		return min(i.before, now.Max), nil
	})
	return was, err
}

// Set limits a process until [Clear]: `tracer limit PID SIZE`. The caller has [Become] its user.
func Set(id process.Identity, bytes int64) error {
	if err := Supported(); err != nil {
		return err
	}
	_, err := impose(id, bytes, commandMark)
	return err
}

// Clear takes a soft limit away, whoever set it: it is as high as the hard one afterwards.
func Clear(id process.Identity) error {
	h, err := hold(id)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.change(func(now unix.Rlimit) (uint64, error) { return now.Max, nil })
	return err
}

// Supported fails with [ErrIgnored] where the kernel does not enforce such limits.
func Supported() error {
	data, err := os.ReadFile("/sys/module/kernel/parameters/ignore_rlimit_data")
	if err == nil && strings.TrimSpace(string(data)) == "Y" {
		return ErrIgnored
	}
	return nil
}

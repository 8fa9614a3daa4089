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

// unlimited is RLIM_INFINITY as an int64.
const unlimited = process.NoLimit

// proc is the running system's /proc, as limits can only be set for running processes.
var proc process.FS

// held is a process whose limit is about to change. After the change, its pidfd shows whether the process still had its
// pid.
type held struct{ *process.Handle }

func hold(id process.Identity) (held, error) {
	h, err := proc.OpenIdentity(id)
	return held{h}, err
}

// change sets the soft limit to what decide returns for the present limit. It returns the present limit.
//
// prlimit(2) takes a pid. If the process has ended by the time that prlimit returns, another process may have had the
// pid and got the limit. Then change restores that process's limit, and fails with [process.ErrNoProcess].
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

// prlimit gets or sets a process's limit, or both.
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

// Error is the reason why a process got no limit.
type Error struct {
	PID  int
	Kind error
	Size int64 // bytes that are mapped already, or the limit that is in the way; 0 for other kinds
}

func (e *Error) Error() string { return fmt.Sprintf("process %d: %v", e.PID, e.Kind) }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// imposed is a soft limit that was set, and the limit before that.
type imposed struct{ ours, before uint64 }

// impose sets a soft limit with a mark. If the present limit is one that a killed session has left, i.before is the
// hard limit.
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

// putBack restores the earlier soft limit, if the process still has the limit that was set. was reports whether it had.
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

// Set limits a process until [Clear], for `tracer limit PID SIZE`. The caller must have called [Become] for the
// process's user.
func Set(id process.Identity, bytes int64) error {
	if err := Supported(); err != nil {
		return err
	}
	_, err := impose(id, bytes, commandMark)
	return err
}

// Clear removes a soft limit, whoever has set it, by setting it to the hard limit.
func Clear(id process.Identity) error {
	h, err := hold(id)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.change(func(now unix.Rlimit) (uint64, error) { return now.Max, nil })
	return err
}

// Supported fails with [ErrIgnored] if Linux does not enforce such limits.
func Supported() error {
	data, err := os.ReadFile("/sys/module/kernel/parameters/ignore_rlimit_data")
	if err == nil && strings.TrimSpace(string(data)) == "Y" {
		return ErrIgnored
	}
	return nil
}

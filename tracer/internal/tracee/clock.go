package tracee

import (
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

func Now() event.Nanoseconds {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return event.Nanoseconds(ts.Nano())
}

// Sooner returns the earlier of two times. The zero time means never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// rest keeps the session from reading something that takes long over and over, for a process that makes it long and
// changes it all the time, such as its mappings: the session is all targets'.
type rest struct{ until time.Time }

const (
	// restShare is how many times as long as the last time took the next one waits.
	restShare = 20
	// briefly is a time after which there is no rest.
	briefly = 20 * time.Millisecond
)

// After begins the rest after something that took so long.
func (r *rest) After(took time.Duration) {
	if took > briefly {
		r.until = time.Now().Add(restShare * took)
	}
}

func (r *rest) IsOver() bool { return !time.Now().Before(r.until) }

// HeldUp is how many times as long as its processor time a look at several processes may take.
const HeldUp = 6

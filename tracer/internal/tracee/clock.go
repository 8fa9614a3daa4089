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

// cooldown keeps the session from reading something slow, such as the mappings of a process, again and again. A process
// could make its mappings many and change them all the time, and the session serves other targets, too.
type cooldown struct{ until time.Time }

const (
	// restShare is the time until the next read, in multiples of the time that the last read took.
	restShare = 20
	// briefly is the longest time of a read after which the next may follow at once.
	briefly = 20 * time.Millisecond
)

// After begins the wait after a read that took a time.
func (r *cooldown) After(took time.Duration) {
	if took > briefly {
		r.until = time.Now().Add(restShare * took)
	}
}

func (r *cooldown) IsOver() bool { return !time.Now().Before(r.until) }

// HeldUp is how many times as long as its processor time a look at several processes may take.
const HeldUp = 6

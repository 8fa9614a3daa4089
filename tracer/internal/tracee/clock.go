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

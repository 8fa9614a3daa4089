package tracer

import (
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

func now() event.Nanoseconds {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return event.Nanoseconds(ts.Nano())
}

// sooner returns the earlier of two times. The zero time means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

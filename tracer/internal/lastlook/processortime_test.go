package lastlook

import (
	"context"
	"errors"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// TestProcessorTime: a look at several processes shares processor time, and only the clock on the wall ends it where it
// is held up.
func TestProcessorTime(t *testing.T) {
	const most = 30 * time.Millisecond
	left := newProcessorTime(context.Background(), most)
	defer left.done()
	held := newProcessorTime(context.Background(), 2*most/tracee.HeldUp)
	defer held.done()
	if <-held.Done(); !errors.Is(context.Cause(held), errHeldUp) || !held.isOver() {
		t.Errorf("held up: %v", context.Cause(held))
	}
	if got := left.share(time.Minute); got < most/2 || left.isOver() {
		t.Errorf("others had the processors, and %v are left", got)
	}
	if got := left.share(time.Millisecond); got != time.Millisecond {
		t.Errorf("the share of a process is %v", got)
	}
	for began := objects.ProcessorTime(); objects.ProcessorTime()-began < most; {
	}
	if !left.isOver() || left.share(time.Minute) != time.Millisecond {
		t.Errorf("over: %v, %v are left", left.isOver(), left.share(time.Minute))
	}
}

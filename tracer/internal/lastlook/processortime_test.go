package lastlook

import (
	"context"
	"errors"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
)

// TestProcessorTime: a look at several processes shares processor time, and only the clock on the wall ends it where it
// is held up.
func TestProcessorTime(t *testing.T) {
	const most = 30 * time.Millisecond
	left := newProcessorTime(context.Background(), most)
	defer left.done()
	time.Sleep(2 * most)
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
	held := newProcessorTime(context.Background(), time.Millisecond)
	defer held.done()
	if <-held.Done(); !errors.Is(context.Cause(held), errHeldUp) || !held.isOver() {
		t.Errorf("held up: %v", context.Cause(held))
	}
}

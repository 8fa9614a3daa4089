package tracer

import (
	"testing"
	"time"
)

// TestRest: what is read in a moment is read again at once, and what takes long only after a rest.
func TestRest(t *testing.T) {
	var r rest
	if !r.isOver() {
		t.Error("a rest before the first time")
	}
	r.after(briefly)
	if !r.isOver() {
		t.Error("a rest after something brief")
	}
	r.after(time.Minute)
	if r.isOver() || time.Until(r.until) < (restShare-1)*time.Minute {
		t.Errorf("after a minute it rests until %v", r.until)
	}
}

package tracee

import (
	"testing"
	"time"
)

// TestSlowReadsWaitForARest: what is read in a moment is read again at once, and what takes long only after a rest.
func TestSlowReadsWaitForARest(t *testing.T) {
	var r cooldown
	if !r.IsOver() {
		t.Error("a rest before the first time")
	}
	r.After(briefly)
	if !r.IsOver() {
		t.Error("a rest after something brief")
	}
	r.After(time.Minute)
	if r.IsOver() || time.Until(r.until) < (restShare-1)*time.Minute {
		t.Errorf("after a minute it rests until %v", r.until)
	}
}

package holders

import (
	"context"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
)

func (s *Survey) limits() (l objects.Limits) {
	l.Defaults()
	return l
}

// TestSecondLookAtAProcessThatRan: a second look is for a process that has run.
func TestSecondLookAtAProcessThatRan(t *testing.T) {
	f := newFake(11)
	for _, c := range []struct {
		used []time.Duration
		want bool
	}{
		{[]time.Duration{time.Second, time.Second + maxIdleTime - 1}, true},
		{[]time.Duration{time.Second, time.Second + maxIdleTime}, false},
		{[]time.Duration{-1, -1}, false},
		{[]time.Duration{time.Second, -1}, false},
	} {
		at := 0
		s, err := newSurvey(context.Background(), f.Heap, f.Memory(),
			Process{Used: func() time.Duration { return c.used[at] }}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		at = 1
		if got := s.wasIdle(); got != c.want {
			t.Errorf("%v: %t", c.used, got)
		}
		s.Close()
	}
}

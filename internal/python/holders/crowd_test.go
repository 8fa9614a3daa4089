package holders

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestCrowdIsBounded surveys more objects, and objects with more references, than there is room for notes of: no more
// is kept, and the result is incomplete.
func TestCrowdIsBounded(t *testing.T) {
	objects, steps := roomObjects, roomSteps
	t.Cleanup(func() { roomObjects, roomSteps = objects, steps })
	for _, room := range []struct{ objects, steps int }{{300, steps}, {objects, 500}} {
		roomObjects, roomSteps = room.objects, room.steps
		p := newFake(11)
		var all []uint64
		for range 1000 {
			all = append(all, p.list())
		}
		p.main("x", p.list(all...))
		s, err := newSurvey(context.Background(), p.h, p.memory(), Process{}, Limits{Time: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(s.Stopped(), errObjects) || len(s.notes.noted) > roomObjects || len(s.notes.steps) > roomSteps+2 {
			t.Errorf("room for %+v: %d objects and %d steps were noted, stopped by %v", room, len(s.notes.noted),
				len(s.notes.steps), s.Stopped())
		}
		s.Close()
	}
}

package holders

import (
	"context"
	"errors"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
)

// TestCrowdIsBounded surveys more objects, and objects with more references, than there is room for notes of: no more
// is kept, and the result is incomplete.
func TestCrowdIsBounded(t *testing.T) {
	most, steps := objects.RoomObjects, objects.RoomSteps
	t.Cleanup(func() { objects.RoomObjects, objects.RoomSteps = most, steps })
	for _, room := range []struct{ objects, steps int }{{300, steps}, {most, 500}} {
		objects.RoomObjects, objects.RoomSteps = room.objects, room.steps
		p := newFake(11)
		var all []uint64
		for range 1000 {
			all = append(all, p.List())
		}
		p.Main("x", p.List(all...))
		s, err := newSurvey(context.Background(), p.Heap, p.Memory(), Process{}, objects.Limits{Time: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if !errors.Is(s.found.Stopped, objects.ErrObjects) || len(s.found.Notes.Noted) > objects.RoomObjects ||
			len(s.found.Notes.Steps) > objects.RoomSteps+2 {
			t.Errorf("room for %+v: %d objects and %d steps were noted, stopped by %v", room, len(s.found.Notes.Noted),
				len(s.found.Notes.Steps), s.found.Stopped)
		}
		s.Close()
	}
}

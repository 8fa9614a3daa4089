package attribution

import "ipytracer/event"

// movement is the values of a process: the current ones, the maxima, and the highest of those in readings.
type movement struct {
	value, high, looked *event.Readings
	waited              bool // the movement covers more than the segment that ends
}

func highest(a event.Readings, b *event.Readings) *event.Readings {
	for m := range a {
		a[m] = max(a[m], b[m])
	}
	return &a
}

// moves are the movements of a tree's processes in one segment.
type moves map[int32]movement

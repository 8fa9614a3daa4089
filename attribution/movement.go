package attribution

import "ipytracer/event"

// movement is what a process has, and what it had: at its highest, and of the values at which it was looked at.
type movement struct {
	value, high, looked *event.Readings
	waited              bool // of more than the segment that ends
}

func highest(a event.Readings, b *event.Readings) *event.Readings {
	for m := range a {
		a[m] = max(a[m], b[m])
	}
	return &a
}

// moves is what one segment did to the processes of a tree.
type moves map[int32]movement

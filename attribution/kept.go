package attribution

import "ipytracer/event"

// place is where a block lies in its process.
type place struct {
	meter   event.Meter
	address uint64
}

// kept is a block that lives.
type kept struct {
	size  event.Bytes
	stack uint64
	birth *birth
	at    event.Nanoseconds
	// sample: it stands for other blocks that are as large as it is.
	sample bool
}

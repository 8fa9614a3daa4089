package attribution

import (
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// place is the meter and the address of a block in its process.
type place struct {
	meter   event.Meter
	address uint64
}

// kept is a block that lives.
type kept struct {
	size  event.Bytes
	stack uint64
	birth *windows.Birth
	at    event.Nanoseconds
	// sample: the block stands for other blocks of its size.
	sample bool
}

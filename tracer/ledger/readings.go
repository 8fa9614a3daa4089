package ledger

import (
	"fmt"
	"time"
)

// A boundary of a tree of several processes is read as soon as it is sent, and its readings are sent after it: the CPU that draws it may be held up in
// between. Whoever closes windows there with no readings gives the other processes the maxima of no segment: their peaks would be too low.

// mostTelling bounds how long what was handed on waits for its readings: longer than a scheduler keeps a CPU from a task on a loaded machine.
const mostTelling = 250 * time.Millisecond

// finishBoundaries hands on everything there is, and returns when all boundaries that were handed on have their readings, or after [mostTelling].
func (l *Ledger) finishBoundaries(sink Sink) error {
	for until := time.Now().Add(mostTelling); ; {
		begun, told, err := l.tellings()
		if err != nil {
			return err
		}
		if err := l.readAll(sink); err != nil {
			return err
		}
		now, _, err := l.tellings()
		if err != nil || begun == told && begun == now || time.Now().After(until) {
			return err
		}
		if begun != told {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// tellings returns how many boundaries of trees of several processes have begun to be sent, and how many of them are through.
func (l *Ledger) tellings() (begun, told uint64, err error) {
	if err = l.objects.SharedBegun.Get(&begun); err == nil {
		err = l.objects.SharedTold.Get(&told)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read how many boundaries are through: %w", err)
	}
	return begun, told, nil
}

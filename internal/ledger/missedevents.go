package ledger

import (
	"slices"
	"sync"
	"time"
)

// missedEvents counts events that no copy of a program at a tracepoint saw, by the number that each copy missed. Every
// copy missed a lost event, one after another, on the same thread. So in any stretch of time that contains all of that,
// no more events are lost than the copy with the fewest misses has missed. Copies that miss events at different times,
// as they do in the long run on a busy machine, have lost nothing.
//
// A stretch lasts from one look at the counts to the next but one, so that an event that begins before a look and ends
// after it is within one stretch. If a thread takes longer than lookApart from one copy to another, and all copies miss
// it, the event is not counted.
type missedEvents struct {
	mu   sync.Mutex
	at   time.Time
	seen [2][][]uint64 // at the last look but one and at the last one: by tracepoint, by copy; nil: no misses
	lost uint64        // up to the last look; an event within two stretches counts twice
}

// lookApart is the least time between two looks.
const lookApart = 2 * time.Second

// look reads the misses so far, if the last look was long enough ago.
func (e *missedEvents) look(now time.Time, missed func() [][]uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.at) < lookApart {
		return
	}
	all := missed()
	e.lost += leastOf(all, e.seen[0])
	e.at, e.seen = now, [2][][]uint64{e.seen[1], all}
}

// upTo returns an upper bound of the lost events, with the misses so far.
func (e *missedEvents) upTo(missed func() [][]uint64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost + leastOf(missed(), e.seen[0])
}

// leastOf returns the sum, over the tracepoints, of the misses since then of the copy with the fewest.
func leastOf(missed, since [][]uint64) (n uint64) {
	for i, of := range missed {
		of = slices.Clone(of)
		for number := range of {
			if since != nil {
				of[number] -= since[i][number]
			}
		}
		n += slices.Min(of)
	}
	return n
}

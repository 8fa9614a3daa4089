package ledger

import (
	"slices"
	"sync"
	"time"
)

// missedEvents counts events that no copy of a program at a tracepoint has seen, by the number that each copy has
// missed. A lost event was missed by every copy, one behind the other, by the same thread. So in any stretch of time
// that holds all of that, no more are lost than the copy with the fewest misses has missed. Copies that miss events at
// other times, as they do on a busy machine in the long run, have lost nothing.
//
// A stretch is from one look at the counts to the next but one, so that an event that begins in front of a look and
// ends behind it is within one. A thread that takes longer than lookApart from one copy to another, and is missed by
// all of them, is not counted.
type missedEvents struct {
	mu   sync.Mutex
	at   time.Time
	seen [2][][]uint64 // at the last look but one and at the last one: by tracepoint, by copy; nil: nothing was missed
	lost uint64        // up to the last look; an event within two stretches counts twice
}

// lookApart is how far two looks are apart, at least.
const lookApart = 2 * time.Second

// look takes in the misses until now, if the last look was long enough ago.
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

// upTo returns how many events are lost at most, with the misses until now.
func (e *missedEvents) upTo(missed func() [][]uint64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost + leastOf(missed(), e.seen[0])
}

// leastOf adds up, by tracepoint, the misses since of the copy with the fewest.
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

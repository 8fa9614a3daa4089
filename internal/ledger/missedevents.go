package ledger

import (
	"slices"
	"sync"
	"time"
)

// missedEvents bounds the number of events that no copy of a program at a tracepoint saw, from the number that each
// copy missed. A lost event was missed by every copy, one after another, on the same thread. So in a stretch of time
// that contains all of these misses, the number of lost events is at most the number of misses of the copy with the
// fewest.
//
// A stretch lasts from one look at the counts to the next but one: an event that begins before a look and ends after it
// is within one stretch. If a thread takes longer than lookApart from one copy to the next, and all copies miss its
// event, the event is not counted.
type missedEvents struct {
	mu   sync.Mutex
	at   time.Time     // of the last look
	seen [2][][]uint64 // the misses at the last two looks, by tracepoint and copy; nil: no misses
	lost uint64        // up to the last look; an event within two stretches counts twice
}

// lookApart is the least time between two looks at the counts.
const lookApart = 2 * time.Second

// count reads the misses so far, if the last look was long enough ago.
func (e *missedEvents) count(now time.Time, missed func() [][]uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.at) < lookApart {
		return
	}
	counts := missed()
	e.lost += leastOf(counts, e.seen[0])
	e.at, e.seen = now, [2][][]uint64{e.seen[1], counts}
}

// bound returns an upper bound of the lost events, with the misses so far.
func (e *missedEvents) bound(missed func() [][]uint64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost + leastOf(missed(), e.seen[0])
}

// leastOf returns, summed over the tracepoints, the misses since since of the copy with the fewest.
func leastOf(missed, since [][]uint64) (n uint64) {
	for i, counts := range missed {
		counts = slices.Clone(counts)
		for number := range counts {
			if since != nil {
				counts[number] -= since[i][number]
			}
		}
		n += slices.Min(counts)
	}
	return n
}

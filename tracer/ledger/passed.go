package ledger

import (
	"slices"
	"sync"
	"time"
)

// passedEvents counts events that no copy of a program at a tracepoint has seen, by what each copy has missed. What is
// lost was missed by every copy, one behind the other, by the same thread. So of any stretch of time that holds all of
// that, no more is lost than the copy has missed that missed least. Copies that miss something at other times, as they
// do on a busy machine in the long run, have lost nothing.
//
// A stretch is from one look at the counts to the next but one, so that what begins in front of a look and ends behind
// it is within one. A thread that takes longer than lookApart from one copy to another, and is missed by all of them,
// is not counted.
type passedEvents struct {
	mu   sync.Mutex
	at   time.Time
	seen [2][][]uint64 // at the last look but one and at the last one: by tracepoint, by copy; nil: nothing was missed
	lost uint64        // up to the last look; what is within two stretches counts twice
}

// lookApart is how far two looks are apart, at least.
const lookApart = 2 * time.Second

// look takes in what has been missed until now, if the last look was long enough ago.
func (e *passedEvents) look(now time.Time, missed func() [][]uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.at) < lookApart {
		return
	}
	all := missed()
	e.lost += leastOf(all, e.seen[0])
	e.at, e.seen = now, [2][][]uint64{e.seen[1], all}
}

// upTo returns how many events are lost at most, with what has been missed until now.
func (e *passedEvents) upTo(missed func() [][]uint64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost + leastOf(missed(), e.seen[0])
}

// leastOf adds up, by tracepoint, what the copy has missed since that has missed least.
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

package ledger

import (
	"fmt"
	"time"

	"github.com/cilium/ebpf"
)

// The readings of a boundary are sent after the boundary, and the CPU that draws it may be held up in between. If a
// reader closed windows at the boundary without these readings, it would miss the highs of the tree's other processes,
// and their peaks would be too low.

// usualReadingWait bounds the time that delivered boundaries wait for their readings. It is longer than the time for
// which a scheduler keeps a task from a CPU on a loaded machine.
const usualReadingWait = 250 * time.Millisecond

// sharedCounts are the kernel half's counts of boundaries of trees of several processes. begun counts the boundaries
// that it began to send, and sent counts those that it sent completely.
type sharedCounts struct{ begun, sent *ebpf.Variable }

// finish calls read, which hands on all available records, until all delivered boundaries have their readings, or until
// the time longest has passed. complete is false in the second case.
func (t sharedCounts) finish(longest time.Duration, read func() error) (complete bool, err error) {
	begun, sent, err := t.counts()
	for until := time.Now().Add(longest); err == nil; {
		if err := read(); err != nil {
			return false, err
		}
		begunBefore, wereComplete := begun, begun == sent
		if begun, sent, err = t.counts(); wereComplete && begun == begunBefore {
			return true, err
		}
		if time.Now().After(until) {
			return false, err
		}
		if begun != sent {
			time.Sleep(20 * time.Microsecond)
		}
	}
	return false, err
}

// counts returns both counts. It reads sent after begun, so that a boundary that begins in between does not count as
// complete.
func (t sharedCounts) counts() (begun, sent uint64, err error) {
	if err = t.begun.Get(&begun); err == nil {
		err = t.sent.Get(&sent)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read how many boundaries are through: %w", err)
	}
	return begun, sent, nil
}

package ledger

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
)

// Births has the untraced Pythons that processes executed or forked, if [Options.Births] is set. It is safe for
// concurrent use.
type Births struct {
	objects *kernelObjects

	mu       sync.Mutex
	seen     uint64 // number of the last birth that was handed out or missed
	wait     uint64 // number of the newest birth when Next last found an unwritten one; 0 for never
	isClosed bool   // the object is closed
}

// Birth is a process that has executed a file that is named python…, or is the fork of one.
type Birth struct {
	PID     int
	Started uint64 // after boot, in 1/100 s, as in /proc/PID/stat
	Forked  bool   // its arguments are its parent's
	// Arguments has the beginning of its command line, with a NUL after each argument.
	Arguments []byte
}

// Next returns the births since the last call. missed counts those that were overwritten: the table keeps the last 512.
// A birth that is just being written comes with the next call.
func (b *Births) Next() (list []Birth, missed uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed {
		return nil, 0, nil
	}
	var born uint64
	if err := b.objects.Born.Get(&born); err != nil {
		return nil, 0, fmt.Errorf("read the births: %w", err)
	}
	size := uint64(b.objects.Births.MaxEntries())
	if born > b.seen+size {
		missed = born - b.seen - size
		b.seen = born - size
	}
	for b.seen < born {
		var birth kernelBirth
		err := b.objects.Births.Lookup(uint32((b.seen+1)%size), &birth)
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return list, missed, fmt.Errorf("read a birth: %w", err)
		}
		if birth.Number != b.seen+1 && b.wait < b.seen+1 { // it is being written: give it until the next call
			b.wait = born
			return list, missed, nil
		}
		b.seen++
		if birth.Number != b.seen { // overwritten, or never written to its end
			missed++
			continue
		}
		text := make([]byte, min(int(birth.Size), len(birth.Text)))
		for i := range text {
			text[i] = byte(birth.Text[i])
		}
		list = append(list, Birth{int(birth.Pid), birth.Started, birth.Forked != 0, text})
	}
	return list, missed, nil
}

// Unread reports whether there are births that Next has not returned yet.
func (b *Births) Unread() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var born uint64
	return !b.isClosed && b.objects.Born.Get(&born) == nil && born > b.seen
}

func (b *Births) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isClosed = true
}

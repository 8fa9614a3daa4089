package filecache

// A table of [Refusals] remembers files that are not looked through again while they are the same: nothing was found in
// them, or it took too long. Everybody can make any number of such files, and any number of processes map them.

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// FileState distinguishes a file in its present state from all others. Only the kernel sets Changed, except of files
// with a server of their own.
type FileState struct {
	Device, Inode, Size uint64
	Written, Changed    [2]int64 // the last change of its content, and of its inode, in s and ns
}

// StateOf returns the file of a result of stat(2).
func StateOf(st *unix.Stat_t) FileState {
	return FileState{st.Dev, st.Ino, uint64(st.Size), [2]int64{int64(st.Mtim.Sec), int64(st.Mtim.Nsec)},
		[2]int64{int64(st.Ctim.Sec), int64(st.Ctim.Nsec)}}
}

// Append appends all fields to a key.
func (f FileState) Append(key []byte) []byte {
	for _, n := range []uint64{f.Device, f.Inode, f.Size, uint64(f.Written[0]), uint64(f.Written[1]),
		uint64(f.Changed[0]), uint64(f.Changed[1])} {
		key = binary.LittleEndian.AppendUint64(key, n)
	}
	return key
}

// most is how many refusals a table holds.
const most = 1024

// Refusals has the files that were refused, each for somebody or something: nobody's look at a file decides about those
// of others. The zero value holds as many as there is room for, until there is none. It is safe for concurrent use.
type Refusals[For comparable] struct {
	MostOf int           // the most of one; 0: no bound of its own
	Lasts  time.Duration // how long a refusal stays; 0: until its room is needed

	mu    sync.Mutex
	known map[key[For]]refusal
}

type key[For comparable] struct {
	of   For
	file FileState
}

type refusal struct {
	why error
	at  time.Time
}

// Add notes that a file was refused. The oldest makes room.
func (t *Refusals[For]) Add(of For, file FileState, why error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[key[For]]refusal{}
	}
	t.known[key[For]{of, file}] = refusal{why, now}
	if t.MostOf > 0 {
		t.trim(t.MostOf, func(k key[For]) bool { return k.of == of })
	}
	t.trim(most, func(key[For]) bool { return true })
}

// trim removes the oldest of some refusals if there are too many.
func (t *Refusals[For]) trim(most int, among func(key[For]) bool) {
	n, oldest := 0, key[For]{}
	for k, one := range t.known {
		if !among(k) {
			continue
		}
		if n++; n == 1 || one.at.Before(t.known[oldest].at) {
			oldest = k
		}
	}
	if n > most {
		delete(t.known, oldest)
	}
}

// Why returns why a file was refused; nil if it was not.
func (t *Refusals[For]) Why(of For, file FileState, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.known[key[For]{of, file}]
	if t.isOver(one, now) {
		return nil
	}
	return one.why
}

// Files returns the files that are refused for somebody.
func (t *Refusals[For]) Files(of For, now time.Time) (all []FileState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, one := range t.known {
		switch {
		case t.isOver(one, now):
			delete(t.known, k)
		case k.of == of:
			all = append(all, k.file)
		}
	}
	return all
}

func (t *Refusals[For]) isOver(one refusal, now time.Time) bool {
	return t.Lasts > 0 && now.Sub(one.at) >= t.Lasts
}

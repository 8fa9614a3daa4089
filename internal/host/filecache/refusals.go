package filecache

// [Refusals] remember files that need not be analysed again while they are unchanged: the analysis found nothing, or
// took too long. The table is bounded, because any user can make any number of such files.

import (
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// FileState identifies a file and its state. If the file changes, so does Changed, which only Linux can set, except for
// files whose file system has a server.
type FileState struct {
	Device, Inode, Size uint64
	Written, Changed    [2]int64 // the last change of the contents, and of the inode: seconds and nanoseconds
}

// StateOf returns the state of a file by the result of stat(2).
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

// most is how many refusals a table has at most.
const most = 1024

// Refusals is a table of files that were refused. Each refusal is for a certain user or thing, of type For, and has no
// effect on others. If the table is full, a new refusal replaces the oldest. It is safe for concurrent use.
type Refusals[For comparable] struct {
	MostOf int           // how many refusals one For may have; 0: no limit
	Lasts  time.Duration // how long a refusal is kept; 0: until another replaces it

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

// Add notes that a file was refused.
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

// trim removes the oldest refusal for whose key among returns true, if there are more than most of these.
func (t *Refusals[For]) trim(most int, among func(key[For]) bool) {
	n, oldest := 0, key[For]{}
	for k, r := range t.known {
		if !among(k) {
			continue
		}
		if n++; n == 1 || r.at.Before(t.known[oldest].at) {
			oldest = k
		}
	}
	if n > most {
		delete(t.known, oldest)
	}
}

// Why returns why a file was refused, or nil if it was not.
func (t *Refusals[For]) Why(of For, file FileState, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.known[key[For]{of, file}]
	if t.isOver(r, now) {
		return nil
	}
	return r.why
}

// Files returns the files that are refused for a user or thing.
func (t *Refusals[For]) Files(of For, now time.Time) (files []FileState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, r := range t.known {
		switch {
		case t.isOver(r, now):
			delete(t.known, k)
		case k.of == of:
			files = append(files, k.file)
		}
	}
	return files
}

// isOver reports whether a refusal has been kept for long enough.
func (t *Refusals[For]) isOver(r refusal, now time.Time) bool {
	return t.Lasts > 0 && now.Sub(r.at) >= t.Lasts
}

package process

import (
	"fmt"
	"sync"
)

// subject is what a request to a helper is about.
type subject struct {
	pid   int
	owner uint32 // the user of the process
	key   uint64 // of the file system (keyOf), or one of the keys below
	what  string // for error messages
}

// The keys of requests that are not about one certain file system.
const (
	byName    = 1 << 62 // and a user: files of the user's processes, by their paths
	ofProcess = 1 << 61 // and a pid: facts about a process that Linux itself has
	ofSocket  = 1 << 60 // and a pid: a descriptor of the process, which may decide how long a close takes
)

// isOfFiles reports whether a request is about files. Users choose their file systems, so these may not answer.
func (s *subject) isOfFiles() bool { return s.key < ofSocket || s.key&byName != 0 }

const (
	// maxSilent is how many silent file systems there may be, and maxSilentOf how many of one user's processes. Each
	// occupies a thread of the helper's process. Beyond that, no file system is asked.
	maxSilent, maxSilentOf = 256, 16
)

// silence is the set of file systems that did not answer. One user's silent file systems do not keep those of other
// users from being asked, up to maxSilent.
type silence struct {
	what  map[uint64]string // by key: the subject's what
	byUID map[uint32]int    // by user: the number of silent file systems
	n     int
	most  bool // no file system is asked any more
}

// add notes that a file system did not answer.
func (all *silence) add(s *subject) {
	if all.what == nil {
		all.what, all.byUID = map[uint64]string{}, map[uint32]int{}
	}
	if _, known := all.what[s.key]; !known && s.isOfFiles() {
		all.byUID[s.owner]++
		all.n++
	}
	all.what[s.key] = s.what
}

// check fails with [ErrNoAnswer] if no request about s may be sent.
func (all *silence) check(s *subject) error {
	what, silent := all.what[s.key]
	tooMany := all.most || all.n >= maxSilent || all.byUID[s.owner] >= maxSilentOf
	switch {
	case silent:
		return &Error{PID: s.pid, Kind: ErrNoAnswer, Cause: fmt.Errorf("%s: the file system does not answer", what)}
	case s.isOfFiles() && tooMany:
		return &Error{PID: s.pid, Kind: ErrNoAnswer,
			Cause: fmt.Errorf("%s: too many other file systems of its user do not answer", s.what)}
	}
	return nil
}

// turns is a lock for each file system, so that only one request at a time is about it.
type turns struct {
	mu    sync.Mutex
	byKey map[uint64]*turn // the locks that somebody has, or waits for
}

type turn struct {
	sync.Mutex
	users int // who have the lock or wait for it
}

// take waits for the lock of a file system. The caller calls release once.
func (t *turns) take(key uint64) (release func()) {
	t.mu.Lock()
	if t.byKey == nil {
		t.byKey = map[uint64]*turn{}
	}
	lock := t.byKey[key]
	if lock == nil {
		lock = &turn{}
		t.byKey[key] = lock
	}
	lock.users++
	t.mu.Unlock()
	lock.Lock()
	return func() {
		lock.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if lock.users--; lock.users == 0 {
			delete(t.byKey, key)
		}
	}
}

package process

import (
	"fmt"
	"sync"
)

// subject is what a request to a helper is about.
type subject struct {
	pid   int
	owner uint32 // the user of the process
	key   uint64 // of its file system
	what  string
}

// The keys of requests that belong to no one file system.
const (
	byName    = 1 << 62 // and a user: files that its processes would find by their names
	ofProcess = 1 << 61 // and a pid: facts about a process that the kernel has itself
	ofSocket  = 1 << 60 // and a pid: a descriptor of the process itself, which may decide how long its close takes
)

// isOfFiles reports whether a request is about files, which their users choose.
func (s *subject) isOfFiles() bool { return s.key < ofSocket || s.key&byName != 0 }

const (
	// maxSilent is how many file systems may fall silent, and maxSilentOf how many of those that the processes of one
	// user have mapped. Each keeps a thread of the helper's process. More count as silent.
	maxSilent, maxSilentOf = 256, 16
)

// silence is the file systems that did not answer. Nobody's keep those of other users from being asked.
type silence struct {
	what map[uint64]string // the request, by key
	of   map[uint32]int    // their number, by user
	n    int
	most bool // more are not to be asked
}

// add notes that a file system did not answer.
func (all *silence) add(s *subject) {
	if all.what == nil {
		all.what, all.of = map[uint64]string{}, map[uint32]int{}
	}
	if _, known := all.what[s.key]; !known && s.isOfFiles() {
		all.of[s.owner]++
		all.n++
	}
	all.what[s.key] = s.what
}

// check fails with [ErrNoAnswer] for a file system that is not to be asked.
func (all *silence) check(s *subject) error {
	what, silent := all.what[s.key]
	switch {
	case silent:
		return &Error{PID: s.pid, Kind: ErrNoAnswer, Cause: fmt.Errorf("%s: the file system does not answer", what)}
	case s.isOfFiles() && (all.most || all.n >= maxSilent || all.of[s.owner] >= maxSilentOf):
		return &Error{PID: s.pid, Kind: ErrNoAnswer,
			Cause: fmt.Errorf("%s: too many other file systems of its user do not answer", s.what)}
	}
	return nil
}

// turns let one request at a time ask each file system.
type turns struct {
	mu  sync.Mutex
	all map[uint64]*turn // those that somebody has, or waits for
}

type turn struct {
	sync.Mutex
	users int
}

// take waits for the turn of a file system; release gives it back.
func (t *turns) take(key uint64) (release func()) {
	t.mu.Lock()
	if t.all == nil {
		t.all = map[uint64]*turn{}
	}
	one := t.all[key]
	if one == nil {
		one = &turn{}
		t.all[key] = one
	}
	one.users++
	t.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.all, key)
		}
	}
}

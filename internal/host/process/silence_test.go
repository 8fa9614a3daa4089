package process

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// on returns the subject of a file on a file system of its own.
func on(user uint32, fs uint64) *subject {
	return &subject{pid: 7, owner: user, key: fs, what: "a file"}
}

// TestSilentFileSystemsOfOneUser: however many file systems of one user fall silent, those of another are asked; and no
// more than some are, for one user and for all.
func TestSilentFileSystemsOfOneUser(t *testing.T) {
	var all silence
	asked := 0
	for user := range uint32(100) {
		mine := 0
		for i := range uint64(40) {
			one := on(user, uint64(user)<<32|i)
			if all.check(one) != nil {
				continue
			}
			mine++
			all.add(one)
			all.add(one) // who waited for the same
			if err := all.check(one); !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), "a file") {
				t.Fatalf("it is asked again: %v", err)
			}
		}
		if asked += mine; user < maxSilent/maxSilentOf && mine != maxSilentOf {
			t.Errorf("%d of user %d were asked", mine, user)
		}
	}
	if asked != maxSilent {
		t.Errorf("%d were asked", asked)
	}
	of := subject{pid: 9, key: ofProcess | 9, what: "a fact"}
	if err := all.check(&of); err != nil {
		t.Errorf("the kernel's own facts: %v", err)
	}
}

// TestMutedFileSystemsAreNotAsked: a helper asks none of the file systems that it is told not to ask, and the others
// again.
func TestMutedFileSystemsAreNotAsked(t *testing.T) {
	h := NewHelper(t.Context())
	h.silent.add(on(1, 5))
	h.Mute([]uint64{6}, false)
	if h.silent.check(on(1, 5)) != nil || h.silent.check(on(1, 6)) == nil || !slices.Equal(h.Silent(), []uint64{6}) {
		t.Errorf("silent: %v", h.Silent())
	}
	if h.Mute(nil, true); h.silent.check(on(1, 5)) == nil {
		t.Error("one is asked, though none is to be")
	}
}

// TestOneRequestAtATime: one request at a time asks a file system, and others do not wait for it. Nothing is left of
// turns that are over.
func TestOneRequestAtATime(t *testing.T) {
	var all turns
	release := all.take(1)
	for key := range uint64(100) {
		all.take(2 + key)()
	}
	got := make(chan func())
	go func() { got <- all.take(1) }()
	select {
	case <-got:
		t.Fatal("two have the same turn")
	case <-time.After(20 * time.Millisecond):
	}
	release()
	(<-got)()
	if len(all.byKey) > 0 {
		t.Errorf("%d are left", len(all.byKey))
	}
}

// unanswered makes a helper that gets no answers.
func unanswered(t *testing.T) *Helper {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[1]) })
	file := os.NewFile(uintptr(pair[0]), "socket")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	h := NewHelper(t.Context())
	h.conn = conn.(*net.UnixConn)
	return h
}

// asksInVain asks some file systems of a user, and returns how long that took.
func asksInVain(t *testing.T, h *Helper, owner uint32, n uint64) time.Duration {
	t.Helper()
	began := time.Now()
	for fs := range n {
		of := on(owner, uint64(owner)<<32|fs)
		if _, err := h.ask(of, &helperRequest{Op: "read"}, -1); !errors.Is(err, ErrNoAnswer) {
			t.Fatal(err)
		}
	}
	return time.Since(began)
}

// TestHelperInAHurry: a helper that is in a hurry waits no longer for file systems that do not answer, all together,
// nor for one that it is waiting for already.
func TestHelperInAHurry(t *testing.T) {
	h := unanswered(t)
	if got := h.patience(helperPatience); got != helperPatience {
		t.Errorf("without a hurry %v", got)
	}
	time.AfterFunc(100*time.Millisecond, func() { h.Hurry(200 * time.Millisecond) })
	if took := asksInVain(t, h, 1, maxSilentOf); took > helperPatience/2 {
		t.Errorf("it took %v", took)
	}
	h.Hurry(time.Hour)
	if got := h.patience(helperPatience); got != leastPatience {
		t.Errorf("a second hurry has it wait %v again", got)
	}
}

// TestSilentFileSystemsHoldUpForAWhile: file systems that do not answer hold up for some seconds a program that is
// there for several users, and another user's are waited for as long as ever when a while has passed.
func TestSilentFileSystemsHoldUpForAWhile(t *testing.T) {
	h := unanswered(t)
	h.Share()
	for owner := range uint32(2) {
		if got := h.patience(helperPatience); owner == 0 && got != sharedPatience {
			t.Errorf("at first %v", got)
		}
		if took := asksInVain(t, h, owner+1, maxSilentOf); took > 2*helperPatience {
			t.Errorf("user %d held it up for %v", owner+1, took)
		}
	}
	if got := h.patience(helperPatience); got != leastPatience {
		t.Errorf("after these %v", got)
	}
	h.shared.at = h.shared.at.Add(-vainShare * time.Minute)
	if got := h.patience(helperPatience); got != sharedPatience {
		t.Errorf("a while later %v", got)
	}
}

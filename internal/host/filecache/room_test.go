package filecache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoRoom has a file system without room keep nothing, and be no error of whoever asks for it.
func TestNoRoom(t *testing.T) {
	folder, _ := filled(t)
	c := opened(t, folder, user, thisProgram)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	c.file.Close()
	c.file = full
	c.Put([]byte("another"), []byte("value"))
	if _, ok := c.Get([]byte("another")); ok {
		t.Error("kept without room")
	}
	has(t, c, true)
	c.Put([]byte("a third"), []byte("value"))
	if c.file != nil {
		t.Error("a file that could not be written to is written to")
	}
}

// TestBounds: neither a value nor a file grows without end, and entries in use are found after the file was turned
// over.
func TestBounds(t *testing.T) {
	folder, file := filled(t)
	c := opened(t, folder, user, thisProgram)
	c.Put([]byte("large"), make([]byte, maxValue+1))
	if _, ok := c.Get([]byte("large")); ok {
		t.Error("a value beyond the limit is kept")
	}
	for i := range 2 * maxFile / maxValue {
		c.Put(fmt.Append(nil, i), make([]byte, maxValue-entrySize))
	}
	c.Close()
	if info, err := os.Stat(file); err != nil || info.Size() > maxFile || info.Size() < turn {
		t.Errorf("the file has %v bytes, %v", info.Size(), err)
	}
	c = opened(t, folder, user, thisProgram) // turns it over
	has(t, c, true)                          // which is kept anew
	c.Close()
	if info, err := os.Stat(file); err != nil || info.Size() != int64(headerSize+entrySize+len("value")) {
		t.Errorf("the new file has %v bytes, %v", info.Size(), err)
	}
	if err := os.Remove(file + before); err != nil {
		t.Error("there is no predecessor:", err)
	}
	has(t, opened(t, folder, user, thisProgram), true)
}

// TestManyDomains: the domains without a new entry for the longest time go, and so do the remains of a program that was
// ended.
func TestManyDomains(t *testing.T) {
	folder, file := filled(t)
	left := filepath.Join(folder, hiddenPrefix+"LEFT")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := unix.NsecToTimespec(1)
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, file, []unix.Timespec{long, long}, 0); err != nil {
		t.Fatal(err)
	}
	for i := range maxDomains {
		opened(t, folder, Domain{UID: uint32(2000 + i)}, thisProgram).Close()
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != maxDomains {
		t.Errorf("there are %v, %v", files, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Error("the oldest is still there:", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error("what was left is still there:", err)
	}
}

// TestUsedStays has the domain stay that a session has looked things up in, though nothing was kept for it for long.
func TestUsedStays(t *testing.T) {
	folder, file := filled(t)
	long := unix.NsecToTimespec(1)
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, file, []unix.Timespec{long, long}, 0); err != nil {
		t.Fatal(err)
	}
	opened(t, folder, user, thisProgram).Close()
	if info, err := os.Stat(file); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("%v, %v", info.ModTime(), err)
	}
}

// TestTwoWriters has sessions that keep at the same time lose nothing, and nothing of another be cut in two.
func TestTwoWriters(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cache")
	opened(t, folder, user, thisProgram).Close()
	const writers, each = 4, 50
	var all sync.WaitGroup
	for w := range writers {
		c := opened(t, folder, user, thisProgram)
		all.Go(func() {
			for i := range each {
				c.Put(fmt.Appendf(nil, "%d %d", w, i), []byte(strings.Repeat("v", 100*i)))
			}
		})
	}
	all.Wait()
	c := opened(t, folder, user, thisProgram)
	for w := range writers {
		for i := range each {
			if value, ok := c.Get(fmt.Appendf(nil, "%d %d", w, i)); !ok || len(value) != 100*i {
				t.Fatalf("writer %d, value %d: %d bytes, %v", w, i, len(value), ok)
			}
		}
	}
}

// TestBusyFolder: a session finds entries while another one changes the folder, and waits for nobody.
func TestBusyFolder(t *testing.T) {
	folder, file := filled(t)
	dir, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	has(t, opened(t, folder, user, thisProgram), true)
	if c, err := Open(folder, Domain{UID: 1}, thisProgram); err == nil || c != nil {
		t.Error("a file was begun although another program has the folder")
	}
	if err := os.Truncate(file, int64(headerSize+1)); err != nil {
		t.Fatal(err)
	}
	c := opened(t, folder, user, thisProgram) // it cannot be replaced now, and nothing is added behind the damage
	c.Put([]byte("key"), []byte("value"))
	if info, err := os.Stat(file); err != nil || info.Size() != int64(headerSize+1) {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

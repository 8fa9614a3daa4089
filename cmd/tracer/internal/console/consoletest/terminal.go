// Package consoletest has terminals for tests.
package consoletest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal returns a terminal, and the reader at its other end.
func Terminal(t testing.TB) (main, other *os.File) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { main.Close() })
	number, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(main.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 120})
	}
	if err != nil {
		t.Fatal(err)
	}
	if other, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return main, other
}

// Shown is the output of a program so far.
type Shown struct {
	mu     sync.Mutex
	output bytes.Buffer
}

func (s *Shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.Write(p)
}

func (s *Shown) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.output.String(), "\r\n", "\n")
}

// Shows waits until the output has a text.
func (s *Shown) Shows(t testing.TB, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.String(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not shown: %s\n%s", want, s)
		}
	}
}

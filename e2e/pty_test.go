package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/sys/unix"
)

// screen is a program on a terminal of its own, with the terminal's text.
type screen struct {
	t     *testing.T
	cmd   *exec.Cmd
	main  *os.File // the test's end of the terminal
	term  vt.MockTerm
	ended chan struct{} // closed once err is set
	err   error         // of the program's end

	mu  sync.Mutex      // protects raw
	raw strings.Builder // everything that the program has written
}

// startScreen starts a program on a new terminal of a size in cells.
func startScreen(t *testing.T, width, height int, env []string, name string, args ...string) *screen {
	t.Helper()
	main, other := newTerminal(t)
	s := &screen{t: t, main: main, term: vt.NewMockTerm(vt.MockOptSize{X: vt.Col(width), Y: vt.Row(height)}),
		ended: make(chan struct{})}
	if err := s.term.Start(); err != nil {
		t.Fatal(err)
	}
	s.setSize(width, height)
	s.cmd = exec.Command(name, args...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = other, other, other
	s.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8"), env...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 64<<10)
		for {
			n, err := main.Read(buffer)
			s.mu.Lock()
			s.raw.Write(buffer[:n])
			s.mu.Unlock()
			_, _ = s.term.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	go func() { s.err = s.cmd.Wait(); <-read; close(s.ended) }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		_ = s.term.Stop()
	})
	return s
}

// newTerminal returns the two ends of a new terminal.
func newTerminal(t *testing.T) (main, other *os.File) {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { main.Close() })
	if err := unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if other, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return main, other
}

// setSize changes the size of the terminal, as when a window is resized.
func (s *screen) setSize(width, height int) {
	s.t.Helper()
	s.term.SetSize(vt.Coord{X: vt.Col(width), Y: vt.Row(height)})
	if err := unix.IoctlSetWinsize(int(s.main.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		s.t.Fatal(err)
	}
}

// rows returns the text of the terminal.
func (s *screen) rows() (rows []string) {
	size, err := s.term.WindowSize()
	if err != nil {
		s.t.Fatal(err)
	}
	for y := range size.Height {
		var row strings.Builder
		for x := range size.Width {
			if c := s.term.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)}).C; c != "" {
				row.WriteString(c)
			} else {
				row.WriteByte(' ')
			}
		}
		rows = append(rows, strings.TrimRight(row.String(), " "))
	}
	return rows
}

// text returns the text of the terminal as lines.
func (s *screen) text() string { return strings.Join(s.rows(), "\n") }

// said returns everything that the program has written.
func (s *screen) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// shows waits until the terminal's text fulfils a condition, which what describes. It fails the test if the program
// ends before.
func (s *screen) shows(what string, isShown func(text string) bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if isShown(s.text()) {
			return
		}
		select {
		case <-s.ended:
			if isShown(s.text()) {
				return
			}
			s.t.Fatalf("%s: it has ended (%v):\n%s", what, s.err, s.text())
		default:
		}
	}
	s.t.Fatalf("not shown: %s:\n%s", what, s.text())
}

// showsText waits until the terminal shows a text.
func (s *screen) showsText(want string) {
	s.t.Helper()
	s.shows(want, func(text string) bool { return strings.Contains(text, want) })
}

// press types keys.
func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.main, keys); err != nil {
		s.t.Fatal(err)
	}
}

// end waits until the program has ended.
func (s *screen) end() error {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(patience):
		s.t.Fatalf("it does not end:\n%s", s.text())
	}
	return nil
}

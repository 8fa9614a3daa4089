// Package display puts the screens of internal/report/live onto the terminal, and takes keys. The terminal is the one
// that the tracer was started from. Everything that touches a terminal belongs here. The contents of a screen and the
// meaning of keys do not.
package display

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v3/tty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Errors of [Open].
var (
	ErrNoTerminal = errors.New("there is no terminal")
	ErrDumb       = errors.New("the terminal cannot move its cursor (TERM is 'dumb' or not set)")
	ErrBackground = errors.New("the terminal is another program's: this one runs in the background")
)

// Terminal is the controlling terminal of this process. Opening it changes nothing on it.
type Terminal struct {
	file  *os.File
	fd    int
	saved *term.State

	mu      sync.Mutex
	resized chan os.Signal
}

// Open opens the controlling terminal. It must be called before the program gives up the right to open files; see
// [Terminal.Descriptor].
func Open() (*Terminal, error) {
	if name := os.Getenv("TERM"); name == "" || name == "dumb" {
		return nil, ErrDumb
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	t := &Terminal{file: f, fd: -1}
	if err := t.look(); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

// look checks that the file is a terminal, and that this program is in its foreground.
func (t *Terminal) look() error {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	var group int
	var failed error
	err = raw.Control(func(fd uintptr) {
		t.fd = int(fd)
		if t.saved, failed = term.GetState(t.fd); failed == nil {
			group, failed = unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	if group != unix.Getpgrp() {
		return ErrBackground
	}
	return nil
}

// Descriptor returns the file descriptor of the terminal. A confined program must still be allowed TCSETS on it, which
// sets how the terminal reads and writes.
func (t *Terminal) Descriptor() int { return t.fd }

// ASCII reports whether the locale's characters are only ASCII.
func ASCII() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			_, charset, _ := strings.Cut(value, ".")
			charset, _, _ = strings.Cut(charset, "@")
			return !slices.Contains([]string{"utf8", "utf-8"}, strings.ToLower(charset))
		}
	}
	return true
}

// Close closes the terminal, and changes nothing on it.
func (t *Terminal) Close() error {
	err := t.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// The methods below make Terminal a tty.Tty, the library's interface of a terminal.

// Start puts the terminal into raw mode: it passes on each key as it is.
func (t *Terminal) Start() error {
	_ = t.file.SetDeadline(time.Time{})
	if _, err := term.MakeRaw(t.fd); err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

// Stop restores the terminal's mode.
func (t *Terminal) Stop() error {
	t.NotifyResize(nil)
	if err := term.Restore(t.fd, t.saved); err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	return nil
}

// lastWrites is how long a terminal that takes no output may delay the program's end.
const lastWrites = time.Second / 2

// Drain makes reads return at once, and writes after lastWrites.
func (t *Terminal) Drain() error {
	return errors.Join(t.file.SetReadDeadline(time.Now()), t.file.SetWriteDeadline(time.Now().Add(lastWrites)))
}

func (t *Terminal) Read(p []byte) (int, error)  { return t.file.Read(p) }
func (t *Terminal) Write(p []byte) (int, error) { return t.file.Write(p) }

// WindowSize returns the size of the terminal, in characters.
func (t *Terminal) WindowSize() (tty.WindowSize, error) {
	size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return tty.WindowSize{}, fmt.Errorf("the size of the terminal: %w", err)
	}
	w, h := int(size.Col), int(size.Row)
	if w == 0 || h == 0 { // a serial line does not know
		w, h = 80, 24
	}
	return tty.WindowSize{Width: w, Height: h}, nil
}

// NotifyResize sets the channel that gets a value when the terminal's size changes; nil for none.
func (t *Terminal) NotifyResize(to chan<- bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.resized != nil {
		signal.Stop(t.resized)
		close(t.resized)
		t.resized = nil
	}
	if to == nil {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	t.resized = signals
	go func() {
		for range signals {
			select {
			case to <- true:
			default: // a resize is noted already
			}
		}
	}()
}

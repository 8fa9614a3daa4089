package session

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/console/consoletest"
	"ipytracer/event"
	"ipytracer/internal/report/text"
)

// followed is a session under way.
type followed struct {
	*Session
	over chan error
}

// following follows a session to its end and prints its report.
func following(t *testing.T, l *lookedAt, out, words io.Writer, o console.Options) *followed {
	t.Helper()
	_, cancel := context.WithCancelCause(t.Context())
	m := console.NewMessages(words)
	c := console.Console{Out: out, Err: m, Signals: console.WatchSignals(cancel, m)}
	t.Cleanup(c.Signals.Stop)
	tracker := attribution.New()
	s, err := New(&Options{Options: o}, c, tracker)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	s.Live, s.Source, l.within = false, l, s.Last.Within
	f := &followed{s, make(chan error, 1)}
	go func() {
		err := s.Follow(t.Context(), func() bool { return len(l.before) > 0 })
		if err == nil {
			err = s.Conclude(tracker)
		}
		m.Drain(time.Minute)
		s.Close()
		f.over <- err
	}()
	return f
}

func (f *followed) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-f.over:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// wholly returns the report as one piece.
func wholly(t *testing.T, o text.Options) string {
	t.Helper()
	tracker, l := attribution.New(), lookedAtNotebook()
	l.settled, l.looking = nil, nil
	for {
		e, err := l.Next(t.Context())
		if err != nil {
			break
		}
		tracker.Add(e)
	}
	var b strings.Builder
	if err := text.Report(&b, tracker.Stream(), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFirstScreen: on a terminal the cells and their peaks are there, with their certainty, during the look at objects.
// The findings of the look follow, and nothing is missing or there twice.
func TestFirstScreen(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	main, other := consoletest.Terminal(t)
	var screen consoletest.Shown
	go func() { _, _ = io.Copy(&screen, main) }()
	l := lookedAtNotebook()
	looking, let := l.looking, l.let
	f := following(t, l, other, other, console.Options{Format: "text"})
	<-looking // and is held
	screen.Shows(t, "In[5]")
	first := screen.String()
	for _, want := range []string{"highest ", "how sure     exact", "5 cells in", "ended: interrupted",
		"Cells, by what they need"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not on the first screen:\n%s", want, first)
		}
	}
	screen.Shows(t, "looking at objects: holders of memory, variables (Ctrl-C ends this) …")
	screen.Shows(t, "\rlooking at objects: holders of memory, variables (Ctrl-C ends this) … 1 s")
	if early := screen.String(); strings.Contains(early, "still there") || strings.Contains(early, "Certificate:") {
		t.Errorf("before the look is over:\n%s", early)
	}
	close(let)
	f.end(t)
	screen.Shows(t, "Certificate: complete")
	all := screen.String()
	if !strings.Contains(all, " s\r\x1b[K\nstill there") || strings.Contains(all, corrected) ||
		!strings.Contains(all, "to free it   del x (objects of 32.00 MiB)") {
		t.Errorf("at the end:\n%q", all)
	}
	for line := range strings.Lines(wholly(t, text.Options{Width: 120})) {
		if n := strings.Count(all, line); strings.TrimSpace(line) != "" && n != 1 {
			t.Errorf("%d times on the screen: %s", n, line)
		}
	}
}

const corrected = "have changed since they were printed"

// TestEnoughOfTheLook: a second Ctrl-C ends the look, not the report, which says so; a second signal of another kind
// ends nothing.
func TestEnoughOfTheLook(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	main, other := consoletest.Terminal(t)
	var screen consoletest.Shown
	go func() { _, _ = io.Copy(&screen, main) }()
	l := lookedAtNotebook()
	looking := l.looking
	f := following(t, l, other, other, console.Options{Format: "text"})
	<-looking
	screen.Shows(t, "In[5]")
	f.Console.Signals.Take(os.Interrupt) // this signal has ended the session
	if f.Last.Within.Err() != nil {
		t.Fatal("the first Ctrl-C ends the look")
	}
	f.Console.Signals.Take(os.Interrupt)
	f.end(t)
	if !l.ended {
		t.Error("the look was not ended")
	}
	screen.Shows(t, "the look at its objects was ended")
	all := screen.String()
	for _, want := range []string{
		"the kernel's objects are not looked at any further", "Ctrl-C once more",
		"still there  280.00 MiB after the last cell", "Certificate: complete",
	} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, all)
		}
	}
	if strings.Contains(all, corrected) || strings.Contains(all, "del x") {
		t.Errorf("on the screen:\n%s", all)
	}

	l = lookedAtNotebook()
	looking = l.looking
	let := l.let
	f = following(t, l, other, other, console.Options{Format: "text"})
	<-looking
	f.Console.Signals.Take(syscall.SIGHUP)
	f.Console.Signals.Take(syscall.SIGHUP)
	if f.Last.Within.Err() != nil {
		t.Error("a closed terminal, which says so twice, has ended the look")
	}
	close(let)
	f.end(t)
}

// TestFirstScreenIsCorrected: if the session's end changes the first screen, the whole report is printed again and says
// so.
func TestFirstScreenIsCorrected(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	main, other := consoletest.Terminal(t)
	var screen consoletest.Shown
	go func() { _, _ = io.Copy(&screen, main) }()
	l := lookedAtNotebook()
	late := *l.last
	late.Lost = []event.Loss{{Reason: event.LostBoundaries, Count: 3}}
	l.last = &late
	close(l.let)
	following(t, l, other, other, console.Options{Format: "text"}).end(t)
	screen.Shows(t, "Certificate: ")
	before, after, found := strings.Cut(screen.String(), corrected)
	if !found || !strings.Contains(before, "how sure     exact") || strings.Contains(after, "how sure     exact") ||
		!strings.Contains(after, "how sure ") || !strings.Contains(after, "Cells, by what") {
		t.Errorf("on the screen:\n%s", screen.String())
	}
}

// TestWholeElsewhere: output to a pipe, and output that is no text, is printed as a whole when everything is known: the
// same bytes as without a terminal's first screen.
func TestWholeElsewhere(t *testing.T) {
	main, other := consoletest.Terminal(t)
	go func() { _, _ = io.Copy(io.Discard, main) }()
	for _, c := range []struct {
		name string
		o    console.Options
		on   io.Writer
		want string
	}{
		{"pipe", console.Options{Format: "text"}, nil, wholly(t, text.Options{Width: -1, Statements: -1})},
		{
			"pipe, all", console.Options{Format: "text", Full: true}, nil,
			wholly(t, text.Options{Width: -1, Statements: -1, Full: true}),
		},
		{"JSON on a terminal", console.Options{Format: "json"}, other, ""},
		{"all of it on a terminal", console.Options{Format: "text", Full: true}, other, ""},
		{"a file", console.Options{Format: "text", File: t.TempDir() + "/out.txt"}, other, ""},
	} {
		var out consoletest.Shown
		on := c.on
		if on == nil {
			on = &out
		}
		l := lookedAtNotebook()
		looking, let := l.looking, l.let
		f := following(t, l, on, io.Discard, c.o)
		<-looking
		if f.Last.printed != nil || out.String() != "" {
			t.Errorf("%s: printed before the look is over: %q", c.name, out.String())
		}
		close(let)
		f.end(t)
		if got := out.String(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestStoppedTerminal: a terminal that accepts no output does not delay the look, nor the removal of the probes. The
// text waits for the terminal.
func TestStoppedTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	main, other := consoletest.Terminal(t)
	fd := int(other.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	// A terminal keeps unread output. Linux moves it to the reader's side later, and then there is room again.
	for filled, room := make([]byte, 4096), 1; room > 0; {
		if _, err := unix.Write(fd, filled); err == nil {
			continue
		}
		if room, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 100); room > 0 {
			_, _ = unix.Write(fd, filled[:1])
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	l := lookedAtNotebook()
	looking, let := l.looking, l.let
	f := following(t, l, other, io.Discard, console.Options{Format: "text"})
	<-looking
	close(let)
	select {
	case <-f.Last.printed:
		t.Error("a full terminal has taken the first screen")
	default:
	}
	var screen consoletest.Shown
	go func() { _, _ = io.Copy(&screen, main) }()
	f.end(t)
	screen.Shows(t, "Certificate: complete")
	if all := screen.String(); strings.Count(all, "Cells, by what they need") != 1 {
		t.Errorf("on the screen:\n%s", all)
	}
}

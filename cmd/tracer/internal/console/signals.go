package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// ErrInterrupted is the cause with which the first signal cancels a command's context.
var ErrInterrupted = Errorf(Failed, "interrupted")

// Signals handles the signals that ask the program to end, such as Ctrl-C and SIGTERM:
//
//   - The first cancels the context: a session ends in good order, with its report.
//   - The second ends the look at the objects of traced processes, if it is Ctrl-C during such a look. Otherwise it
//     says that the report is on its way, or ends the program if there is none.
//   - The third, or Ctrl-\ at any time, ends the program and removes half-written files.
//
// SIGPIPE and SIGXFSZ do not end the program: the write fails.
type Signals struct {
	cancel  context.CancelCauseFunc
	words   io.Writer
	signals chan os.Signal

	mu       sync.Mutex
	requests int             // number of signals that asked the program to end
	report   bool            // a report will come
	files    []discarder     // half-written files
	taker    func(os.Signal) // takes the signals instead; nil for none
	endLook  func()          // ends the look at objects; nil without a look
	hangup   func()          // called for a SIGHUP; nil: SIGHUP ends the program
}

// alwaysCaught are caught even if the program was started with them ignored, as a shell does for background programs.
var alwaysCaught = []os.Signal{os.Interrupt, syscall.SIGTERM}

// caughtUnlessIgnored would end the program as well. They are caught unless they are ignored, as SIGHUP is by nohup(1).
// The others, such as SIGPROF and the signals of errors in the program itself, are left to Go's runtime.
var caughtUnlessIgnored = []os.Signal{
	syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGXFSZ, syscall.SIGXCPU, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR, syscall.SIGSTKFLT,
}

// WatchSignals catches signals until stop is called.
func WatchSignals(cancel context.CancelCauseFunc, words io.Writer) *Signals {
	e := &Signals{cancel: cancel, words: words, signals: make(chan os.Signal, 16)}
	signal.Notify(e.signals, alwaysCaught...)
	for _, s := range caughtUnlessIgnored {
		if !signal.Ignored(s) {
			signal.Notify(e.signals, s)
		}
	}
	go func() {
		for s := range e.signals {
			e.Take(s)
		}
	}()
	return e
}

// Stop ends the handling.
func (e *Signals) Stop() {
	signal.Stop(e.signals)
	close(e.signals)
}

// discarder is a file that may be incomplete. Discard does nothing to a complete file.
type discarder interface{ Discard() }

// RemoveOnExit registers a file to be removed if the program ends at once.
func (e *Signals) RemoveOnExit(f discarder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files = append(e.files, f)
}

// ExpectReport notes that a report will be written when the session ends.
func (e *Signals) ExpectReport() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report = true
}

// HandTo makes another function take the signals. With nil, e takes them again.
func (e *Signals) HandTo(hand func(os.Signal)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taker = hand
}

// OnSecondInterrupt sets the function for a second Ctrl-C, nil for none. It must not wait.
func (e *Signals) OnSecondInterrupt(end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endLook = end
}

// IgnoreStops prevents a terminal from stopping the program, by Ctrl-Z or because it writes in the background
// (SIGTTOU).
func (e *Signals) IgnoreStops() {
	signal.Ignore(syscall.SIGTTOU)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(e.signals, syscall.SIGTSTP)
	}
}

// OnHangup calls a function for each SIGHUP from now on, which does not end the program then. The function must not
// wait.
func (e *Signals) OnHangup(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hangup = do
	signal.Notify(e.signals, syscall.SIGHUP)
}

// Take handles a signal. A command may also call it for a user's request, such as the key that quits.
func (e *Signals) Take(s os.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case s == syscall.SIGPIPE, s == syscall.SIGXFSZ:
	case s == syscall.SIGTSTP:
		fmt.Fprintln(e.words,
			"tracer: a tracer that is stopped would miss what happens: it goes on; Ctrl-C ends it, with the report")
	case s == syscall.SIGHUP && e.hangup != nil:
		e.hangup()
	case e.taker != nil:
		e.taker(s)
	default:
		e.requests++
		e.end(s)
	}
}

// end acts on the latest request s to end the program. The caller holds mu.
func (e *Signals) end(s os.Signal) {
	switch {
	case s == syscall.SIGQUIT:
		e.exitNow(s)
	case e.requests == 1:
		e.cancel(ErrInterrupted)
	// Only Ctrl-C: other signals may come in pairs, as when a terminal is closed.
	case e.requests == 2 && e.endLook != nil && s == os.Interrupt:
		e.endLook()
	case e.requests == 2 && e.report:
		fmt.Fprintln(e.words,
			`tracer: the report is on its way; Ctrl-C once more, or Ctrl-\, ends the tracer without it`)
	default:
		e.exitNow(s)
	}
}

// cleanupTimeout bounds the removal of half-written files, which may be on a file system that does not answer.
const cleanupTimeout = time.Second

// exitNow removes the half-written files and ends the program, with the exit status that a shell gives to the signal.
func (e *Signals) exitNow(s os.Signal) {
	removed := make(chan struct{})
	go func() {
		for _, f := range e.files {
			f.Discard()
		}
		close(removed)
	}()
	select {
	case <-removed:
	case <-time.After(cleanupTimeout):
	}
	number, _ := s.(syscall.Signal)
	os.Exit(128 + int(number))
}

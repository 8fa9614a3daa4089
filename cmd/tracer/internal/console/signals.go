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

	"ipytracer/cmd/tracer/internal/status"
)

var ErrInterrupted = status.Errorf(status.Failed, "interrupted")

// Signals handles signals. The first that asks the program to end (Ctrl-C, SIGTERM, a closed terminal, …) ends a
// session in good order, with its report. A second Ctrl-C ends the look at the objects of the traced processes.
// Otherwise the second ends the program, or prints that a report is being written; then the third ends it, and Ctrl-\
// does so at any time. In that case half-written files are removed. Errors of the output do not end the program:
// SIGPIPE and SIGXFSZ are errors of the write.
type Signals struct {
	cancel  context.CancelCauseFunc
	words   io.Writer
	signals chan os.Signal

	mu     sync.Mutex
	asked  int             // number of requests to end the program
	report bool            // a report will come
	files  []discarder     // half-written ones
	hand   func(os.Signal) // takes the signals instead
	look   func()          // ends the look that a second Ctrl-C ends first; nil without a look
	hangup func()          // called for a SIGHUP, which ends nothing then; nil: it ends the program
}

// always are caught even if the program was started with them ignored, as a shell does with SIGINT in the background.
var always = []os.Signal{os.Interrupt, syscall.SIGTERM}

// unlessIgnored would end the program, too, and are caught unless they are ignored, as SIGHUP is by nohup(1). SIGPROF,
// SIGSYS and the signals of errors in the program itself are left to the runtime.
var unlessIgnored = []os.Signal{
	syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGXFSZ, syscall.SIGXCPU, syscall.SIGUSR1,
	syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR, syscall.SIGSTKFLT,
}

// WatchSignals catches signals until stop is called.
func WatchSignals(cancel context.CancelCauseFunc, words io.Writer) *Signals {
	e := &Signals{cancel: cancel, words: words, signals: make(chan os.Signal, 16)}
	signal.Notify(e.signals, always...)
	for _, s := range unlessIgnored {
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

func (e *Signals) Stop() {
	signal.Stop(e.signals)
	close(e.signals)
}

// discarder is a file that is, or was, incomplete: discarding a complete one does no harm.
type discarder interface{ Discard() }

// RemoveOnExit registers a file to be removed if the program ends at once.
func (e *Signals) RemoveOnExit(f discarder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files = append(e.files, f)
}

// ExpectReport records that a report will be written, however the session ends.
func (e *Signals) ExpectReport() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report = true
}

// HandTo has another function take the signals. With nil, e takes them again.
func (e *Signals) HandTo(hand func(os.Signal)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hand = hand
}

// OnSecondInterrupt sets the function for a second Ctrl-C, nil for none. It must not wait.
func (e *Signals) OnSecondInterrupt(end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.look = end
}

// IgnoreStops prevents a terminal from stopping a session: in the background, where it may not write (SIGTTOU), and at
// Ctrl-Z.
func (e *Signals) IgnoreStops() {
	signal.Ignore(syscall.SIGTTOU)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(e.signals, syscall.SIGTSTP)
	}
}

// OnHangup calls a function for each SIGHUP from now on. SIGHUP then ends nothing, as in a service. The function must
// not wait.
func (e *Signals) OnHangup(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hangup = do
	signal.Notify(e.signals, syscall.SIGHUP)
}

// Take handles a signal, or one that stands for a user's wish.
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
	case e.hand != nil:
		e.hand(s)
	default:
		e.asked++
		e.end(s)
	}
}

// end does what the user's requests so far ask for, of which s is the last.
func (e *Signals) end(s os.Signal) {
	switch {
	case s == syscall.SIGQUIT:
		e.atOnce(s)
	case e.asked == 1:
		e.cancel(ErrInterrupted)
	// Other signals may come in pairs, as when a terminal is closed.
	case e.asked == 2 && e.look != nil && s == os.Interrupt:
		e.look()
	case e.asked == 2 && e.report:
		fmt.Fprintln(e.words,
			`tracer: the report is on its way; Ctrl-C once more, or Ctrl-\, ends the tracer without it`)
	default:
		e.atOnce(s)
	}
}

// cleanupPatience bounds the removal of half-written files: they may be on a file system that does not answer.
const cleanupPatience = time.Second

// atOnce removes the half-written files and ends the program, with the status that a shell gives to the signal.
func (e *Signals) atOnce(s os.Signal) {
	removed := make(chan struct{})
	go func() {
		for _, f := range e.files {
			f.Discard()
		}
		close(removed)
	}()
	select {
	case <-removed:
	case <-time.After(cleanupPatience):
	}
	number, _ := s.(syscall.Signal)
	os.Exit(128 + int(number))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var errInterrupted = errors.New("interrupted")

// endings is what becomes of signals. The first that asks the program to end (Ctrl-C, SIGTERM, a closed terminal, …) ends a session in
// good order, with its report. A second Ctrl-C ends the look at what the traced processes have in the end. Otherwise the second ends the program, or is
// told that a report is on its way; then the third ends it, and Ctrl-\ does so at any time. What the program has begun to write is taken away then. Nothing that becomes of its output ends it: SIGPIPE and SIGXFSZ
// are errors of what is written.
type endings struct {
	cancel  context.CancelCauseFunc
	words   io.Writer
	signals chan os.Signal

	mu     sync.Mutex
	asked  int             // how often the program was asked to end
	report bool            // a report will come
	begun  []discarder     // what is half written
	hand   func(os.Signal) // takes the signals instead
	look   func()          // ends what a second Ctrl-C ends before it ends anything else; nil: there is nothing
}

// always are taken even if the program was started with them ignored, as a shell does with SIGINT in the background.
var always = []os.Signal{os.Interrupt, syscall.SIGTERM}

// unlessIgnored are the others that would end the program and can be caught; nohup(1) ignores SIGHUP. SIGPROF, SIGSYS and what stands for an error of
// the program itself are left to the runtime.
var unlessIgnored = []os.Signal{
	syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGXFSZ, syscall.SIGXCPU, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR, syscall.SIGSTKFLT,
}

// watchEndings takes signals until stop is called.
func watchEndings(cancel context.CancelCauseFunc, words io.Writer) *endings {
	e := &endings{cancel: cancel, words: words, signals: make(chan os.Signal, 16)}
	signal.Notify(e.signals, always...)
	for _, s := range unlessIgnored {
		if !signal.Ignored(s) {
			signal.Notify(e.signals, s)
		}
	}
	go func() {
		for s := range e.signals {
			e.take(s)
		}
	}()
	return e
}

func (e *endings) stop() {
	signal.Stop(e.signals)
	close(e.signals)
}

// discarder is a file that is not whole yet, or was: discarding that does no harm.
type discarder interface{ Discard() }

// takeAway names a file to be taken away, should the program end at once.
func (e *endings) takeAway(f discarder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begun = append(e.begun, f)
}

// expectReport says that a report will be written, however the session ends.
func (e *endings) expectReport() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report = true
}

// handTo gives the signals to somebody else, nil: back.
func (e *endings) handTo(hand func(os.Signal)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hand = hand
}

// lookEnds says what a second Ctrl-C ends, nil: nothing any more. It must not wait.
func (e *endings) lookEnds(end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.look = end
}

// goOn makes a session go on that a terminal would stop: in the background, where it may not write (SIGTTOU), and at Ctrl-Z.
func (e *endings) goOn() {
	signal.Ignore(syscall.SIGTTOU)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(e.signals, syscall.SIGTSTP)
	}
}

// ask ends a session as Ctrl-C does.
func (e *endings) ask() { e.take(os.Interrupt) }

func (e *endings) take(s os.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case s == syscall.SIGPIPE, s == syscall.SIGXFSZ:
	case s == syscall.SIGTSTP:
		fmt.Fprintln(e.words, "tracer: a tracer that is stopped would miss what happens: it goes on; Ctrl-C ends it, with the report")
	case e.hand != nil:
		e.hand(s)
	default:
		e.asked++
		e.end(s)
	}
}

func (e *endings) end(s os.Signal) {
	switch {
	case s == syscall.SIGQUIT:
		e.atOnce(s)
	case e.asked == 1:
		e.cancel(errInterrupted)
	case e.asked == 2 && e.look != nil && s == os.Interrupt: // other signals may come in pairs, as where a terminal is closed
		e.look()
	case e.asked == 2 && e.report:
		fmt.Fprintln(e.words, `tracer: the report is on its way; Ctrl-C once more, or Ctrl-\, ends the tracer without it`)
	default:
		e.atOnce(s)
	}
}

// cleanupPatience is how long taking away what is half written may take: it may be on a file system that does not answer.
const cleanupPatience = time.Second

// atOnce ends the program with the status that a shell gives to the signal.
func (e *endings) atOnce(s os.Signal) {
	done := make(chan struct{})
	go func() {
		for _, f := range e.begun {
			f.Discard()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(cleanupPatience):
	}
	number, _ := s.(syscall.Signal)
	os.Exit(128 + int(number))
}

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
)

// TestStorms runs every storm under the tracer, alone and with its threads meeting at the tracer's tracepoints: every
// figure in its report is right.
func TestStorms(t *testing.T) {
	program := compiled(t)
	for _, s := range storms {
		for name, aligned := range map[string]bool{"alone": false, "aligned": true} {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				o := options{program: program, aligned: aligned, meeting: 200 * time.Microsecond}
				r, err := o.runSession(t.Context(), []storm{s})
				if err != nil {
					if os.Getenv("TRACER_REQUIRE_BPF") != "1" &&
						(errors.Is(err, ledger.ErrNotPermitted) || errors.Is(err, ledger.ErrNotSupported)) {
						t.Skip(err)
					}
					t.Fatal(err)
				}
				t.Logf("%d processes, %d boundaries, %d of %d figures equal, %d waits, passed %v", r.Processes,
					r.Boundaries, r.Equal, r.Figures, r.Waits, r.Passed)
				if !r.Right {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// compiled returns the program of the storms.
func compiled(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "storm")
	if out, err := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o", program,
		"c/storm.c").CombinedOutput(); err != nil {
		t.Fatalf("compile c/storm.c: %v: %s", err, out)
	}
	return program
}

// TestLivesWithoutAnEndAreFound: processes that end twice or never, or boundaries without a number, are found.
func TestLivesWithoutAnEndAreFound(t *testing.T) {
	l := newLives()
	for i, b := range []event.Boundary{
		{Kind: event.Attached, PID: 1}, {Kind: event.ProcessStart, PID: 2}, {Kind: event.ProcessExec, PID: 3},
		{Kind: event.ProcessExit, PID: 2},
		{Kind: event.ProcessExit, PID: 2}, {Kind: event.ProcessStart, PID: 2}, {Kind: event.ProcessExit, PID: 3},
	} {
		b.Number = uint64(i + 1)
		if i > 4 {
			b.Number++ // 6 is missing
		}
		l.see(&b)
	}
	if l.began != 4 || l.endedTwice != 1 || l.neverEnded() != 2 || l.missing() != 1 || l.twice != 0 {
		t.Errorf("%d began, %d ended twice, %d never, %d numbers missing, %d twice", l.began, l.endedTwice,
			l.neverEnded(), l.missing(), l.twice)
	}
}

// TestNoWaits: a run without any wait is wrong, and an unknown number of waits is an error.
func TestNoWaits(t *testing.T) {
	r := Result{Right: true}
	if err := r.setWaits(3, nil); err != nil || !r.Right || r.Waits != 3 {
		t.Errorf("%v, %+v", err, r)
	}
	if err := r.setWaits(0, os.ErrClosed); !errors.Is(err, os.ErrClosed) || !r.Right {
		t.Errorf("%v, %+v", err, r)
	}
	if err := r.setWaits(0, nil); err != nil || r.Right {
		t.Errorf("%v, %+v", err, r)
	}
}

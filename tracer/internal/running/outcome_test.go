package running

import (
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
)

// TestExceptionThatWasShownDecides: the exception that IPython showed decides how a cell ended only if it was certainly
// shown in that cell.
func TestExceptionThatWasShownDecides(t *testing.T) {
	none, value := cpython.Exception{}, cpython.Exception{Value: 1, Traceback: 2, Type: "ValueError"}
	again := cpython.Exception{Value: 1, Traceback: 3, Type: "ValueError"}
	syntax, interrupt := cpython.Exception{Value: 4, Type: "SyntaxError"},
		cpython.Exception{Value: 5, Type: "KeyboardInterrupt"}
	for _, c := range []struct {
		name          string
		seen          event.Outcome
		ran           bool
		before, after cpython.Exception
		late          bool
		want          event.Outcome
	}{
		{"nothing shown", event.OutcomeOK, true, value, value, false, event.OutcomeOK},
		{"nothing shown ever", event.OutcomeOK, false, none, none, false, event.OutcomeOK},
		{"nothing ran", event.OutcomeOK, false, none, value, false, event.OutcomeError},
		{"the same one again", event.OutcomeOK, false, value, again, false, event.OutcomeError},
		{"shown by a magic", event.OutcomeOK, true, none, value, false, event.OutcomeOK},
		{"syntax", event.OutcomeOK, true, none, syntax, false, event.OutcomeError},
		{"interrupted", event.OutcomeOK, true, none, interrupt, false, event.OutcomeInterrupted},
		{"interrupted and failed", event.OutcomeError, true, none, interrupt, false, event.OutcomeInterrupted},
		{"abandoned", event.OutcomeAbandoned, true, none, value, false, event.OutcomeAbandoned},
		{"late", event.OutcomeOK, true, none, none, true, event.OutcomeUnknown},
		{"late, another's exception", event.OutcomeOK, false, none, syntax, true, event.OutcomeUnknown},
		{"late, failed", event.OutcomeError, true, none, interrupt, true, event.OutcomeError},
		{"late, abandoned", event.OutcomeAbandoned, true, none, interrupt, true, event.OutcomeAbandoned},
	} {
		if got := judge(c.seen, c.ran, c.before, c.after, c.late); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

package companion

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
)

func (e *eyes) Advised(pid int, found *event.Variables) string {
	if int(found.PID) != pid {
		e.t.Errorf("advice for %d of %v", pid, found)
	}
	return e.advice
}

// TestAdvice: advice comes as text, whole or cut, and promises nothing.
func TestAdvice(t *testing.T) {
	e := newEyes(t, book{})
	e.advice = "1  256.00 MiB lower\n  +del raw\n"
	n := connect(t, e.hub, 7)
	n.packet()
	ask := func() *answerOf {
		number := n.ask(`{"id": 1, "ask": "advise"}`).Look
		e.finish(7, time.Second)
		return n.ask(fmt.Sprintf(`{"id": 2, "ask": "advise", "look": %d}`, number))
	}
	if got := ask(); got.Advice != e.advice || got.TookNS == 0 || len(got.Variables) != 0 {
		t.Errorf("%+v", got)
	}
	e.advice = strings.Repeat("\x01<", 40_000)
	if got := ask(); len(got.Advice) != maxAdvice {
		t.Errorf("%d bytes", len(got.Advice))
	}
	if got := n.ask(`{"id": 3, "ask": "check"}`); got.Error == "" {
		t.Errorf("advice has promised something: %+v", got)
	}
}

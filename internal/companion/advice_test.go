package companion

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
)

func (e *eyes) Advised(pid int, found *event.Variables) func() string {
	if int(found.PID) != pid {
		e.t.Errorf("advice for %d of %v", pid, found)
	}
	return func() string {
		if e.writes != nil {
			<-e.writes
		}
		return e.advice
	}
}

// written asks for advice once its text is written.
func written(t *testing.T, n *notebook, number int64) *answerOf {
	t.Helper()
	if text := n.hub.looks.written; text != nil { // nil: it was written, and taken, before the hub had answered all
		select {
		case one := <-text:
			text <- one
		case <-time.After(patience):
			t.Fatal("the text is never written")
		}
	}
	return n.ask(fmt.Sprintf(`{"id": 2, "ask": "advise", "look": %d}`, number))
}

// TestAdviceIsWrittenBeside: while a text is written, other questions are answered; another look waits. If its process
// ends meanwhile, nobody gets the text.
func TestAdviceIsWrittenBeside(t *testing.T) {
	e := newEyes(t, book{})
	e.advice, e.writes = "del raw", make(chan bool)
	n, other := connect(t, e.hub, 7), connect(t, e.hub, 8)
	n.packet()
	other.packet()
	number := n.ask(`{"id": 1, "ask": "advise"}`).Look
	e.finish(7, time.Second)
	if got := n.ask(fmt.Sprintf(`{"id": 2, "ask": "advise", "look": %d}`, number)); !got.Looking {
		t.Errorf("%+v", got)
	}
	waits := other.ask(`{"id": 1, "ask": "vars"}`)
	if !waits.Looking || len(e.begun) != 1 {
		t.Errorf("%+v, begun %v", waits, e.begun)
	}
	e.writes <- true
	if got := written(t, n, number); got.Advice != "del raw" {
		t.Errorf("%+v", got)
	}
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
		return written(t, n, number)
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

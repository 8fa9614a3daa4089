package companion

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/model"
)

func TestHostileRequests(t *testing.T) {
	n := connect(t, newHub(book{1: cell(1, 7)}), 7)
	n.packet()
	for _, text := range []string{"{", "null", "[1]", `{"id": "x"}`, `{"id": 1e400}`, `{"ask": 3}`, "\x00\xff",
		`{"id": 1, "ask": "` + strings.Repeat("x", 3000) + `"}`} {
		if a := n.ask(text); a.Error == "" || len(a.Error) > 200 {
			t.Errorf("%.30q: %+v", text, a)
		}
	}
	for _, text := range []string{`{"id": -1, "ask": "cells", "after": -99999999, "limit": -5}`,
		`{"id": 9, "ask": "cells", "limit": 99999999}`} {
		if a := n.ask(text); len(a.Windows) != 1 {
			t.Errorf("%s: %+v", text, a)
		}
	}
	if a := n.ask(`{"id": 9, "ask": "lines", "window": -1}`); a.Error == "" {
		t.Errorf("a window that there cannot be: %+v", a)
	}
}

// TestTooLong: a process that sends more than a request may have is not listened to any more.
func TestTooLong(t *testing.T) {
	n := connect(t, newHub(book{}), 7)
	n.packet()
	n.send(strings.Repeat("x", maxRequest+1))
	n.say()
	n.isOver()
}

// TestDescriptors: a notebook that sends descriptors along has no line any more, and they are closed.
func TestDescriptors(t *testing.T) {
	n := connect(t, newHub(book{}), 7)
	n.packet()
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	many := make([]int, 250)
	for i := range many {
		many[i] = pipe[1]
	}
	if err := unix.Sendmsg(n.end, []byte(`{"id": 1, "ask": "cells"}`), unix.UnixRights(many...), nil, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(pipe[1])
	n.say()
	n.isOver()
	if got, err := unix.Read(pipe[0], make([]byte, 1)); got != 0 || err != nil { // the end, once all are closed
		t.Errorf("a pipe whose other end was sent: %d, %v", got, err)
	}
	unix.Close(pipe[0])
}

// TestManyAtOnce: of requests that one notebook sends at once a few are answered, and the rest as it asks again.
func TestManyAtOnce(t *testing.T) {
	n := connect(t, newHub(book{}), 7)
	n.packet()
	for id := range 2 * maxAtOnce {
		n.send(fmt.Sprintf(`{"id": %d, "ask": "cell"}`, id+1))
		n.hub.Note(&event.Boundary{Kind: event.Asked, PID: 7})
	}
	n.hub.Answer()
	for id := range maxAtOnce {
		if a := n.packet(); a.ID != int64(id+1) {
			t.Errorf("answer %d is to %d", id+1, a.ID)
		}
	}
	if _, _, err := unix.Recvfrom(n.end, make([]byte, 1), unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("more than %d answers at once: %v", maxAtOnce, err)
	}
	n.say()
	for id := range maxAtOnce {
		if a := n.packet(); a.ID != int64(maxAtOnce+id+1) {
			t.Errorf("answer %d is to %d", maxAtOnce+id+1, a.ID)
		}
	}
}

// TestTicksOfALongCell: a notebook hears of a cell that runs long, for as long as it runs, and not more often than it
// answers.
func TestTicksOfALongCell(t *testing.T) {
	h := newHub(book{})
	main, live := connect(t, h, 7), connectAs(t, h, 7, true)
	main.packet()
	live.packet()
	h.Note(&event.Boundary{Kind: event.CellOpen, PID: 7, Cell: 3})
	h.Note(&event.Boundary{Kind: event.CellOpen, PID: 7, Cell: 4, Outer: 3})
	h.Note(&event.Boundary{Kind: event.CellClose, PID: 7, Cell: 4})
	for range maxTicks {
		if a := live.packet(); a.Tick != 3 {
			t.Fatalf("%+v", a)
		}
	}
	if hear(t, 2*nextTick, live) {
		t.Error("a tick that the last ones did not leave room for")
	}
	answer, tick := live.ask(`{"id": 5, "ask": "running"}`), live.packet()
	if answer.Tick == 3 { // its time came just before the answer's
		answer, tick = tick, answer
	}
	if answer.ID != 5 || tick.Tick != 3 {
		t.Errorf("%+v, and no tick after an answer: %+v", answer, tick)
	}
	h.Note(&event.Boundary{Kind: event.CellClose, PID: 7, Cell: 3})
	h.Note(&event.Boundary{Kind: event.CellOpen, PID: 7, Cell: 5})
	h.Note(&event.Boundary{Kind: event.CellClose, PID: 7, Cell: 5})
	live.drain() // on a machine that is busy they may have taken as long as a tick
	if hear(t, 2*nextTick, main, live) {
		t.Error("a tick of no cell")
	}
	h.Note(&event.Boundary{Kind: event.ProcessExit, PID: 7})
	main.isOver()
	live.isOver()
}

// TestNothingIsSaid: a notebook that claims to have asked and has not is not waited for, and is heard when it has.
func TestNothingIsSaid(t *testing.T) {
	n := connect(t, newHub(book{}), 7)
	n.packet()
	for range 1000 {
		n.say()
	}
	if a := n.ask(`{"id": 1, "ask": "cells"}`); a.ID != 1 {
		t.Errorf("%+v", a)
	}
}

// TestNobodyReads: a notebook that asks and never reads fills its socket, and loses the line; nobody waits for it.
func TestNobodyReads(t *testing.T) {
	b := book{}
	for id := 1; id <= maxCells; id++ {
		w := cell(id, 7)
		w.Source = strings.Repeat("x", maxSource)
		b[id] = w
	}
	n := connect(t, newHub(b), 7)
	for range 1000 {
		if unix.Send(n.end, []byte(`{"id": 1, "ask": "cells"}`), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT) != nil {
			break
		}
		n.say()
		if n.hub.line(7, false) == nil {
			return
		}
	}
	t.Error("the line is there still")
}

// TestEndsOfALink: a process that has ended, executes a program, or makes another line has lost the first; so have all
// when the hub closes.
func TestEndsOfALink(t *testing.T) {
	h := newHub(book{})
	for _, kind := range []event.BoundaryKind{event.ProcessExit, event.ProcessExec} {
		n := connect(t, h, 7)
		h.Note(&event.Boundary{Kind: kind, PID: 7})
		n.isOver()
	}
	first := connect(t, h, 7)
	second := connect(t, h, 7)
	first.isOver()
	second.packet()
	h.Close()
	second.isOver()
}

func TestTooManyLines(t *testing.T) {
	h := newHub(book{})
	for pid := 1; pid <= maxLines; pid++ {
		connect(t, h, pid).packet()
	}
	one := connect(t, h, maxLines+1)
	one.isOver()
	h.Note(&event.Boundary{Kind: event.ProcessExit, PID: 1})
	connect(t, h, maxLines+1).packet()
}

// TestLinksAreSharedByAccount: an account that has taken all lines gives up its latest ones to others, until they have
// as many; those of others stay.
func TestLinksAreSharedByAccount(t *testing.T) {
	h := New(Options{Account: func(pid int) string { return fmt.Sprint("user ", pid/1000) }}, book{})
	var greedy, others []*notebook
	for n := range maxLines {
		greedy = append(greedy, connect(t, h, 1000+n))
		greedy[n].packet()
	}
	for n := range maxLines / 2 {
		others = append(others, connect(t, h, 2000+n))
		if others[n].packet() == nil {
			t.Fatalf("the other user has %d lines", n)
		}
	}
	connect(t, h, 2999).isOver()
	connect(t, h, 1999).isOver()
	for n, one := range greedy {
		if n < maxLines/2 {
			one.ask(`{"id": 1, "ask": "running"}`)
		} else {
			one.isOver()
		}
	}
	for _, one := range others {
		one.ask(`{"id": 1, "ask": "running"}`)
	}
}

// TestPage: a notebook that asks for a page gets its descriptor, once the session gives one, and the hub keeps none.
func TestPage(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	h := newHub(book{})
	n := connect(t, h, 7)
	n.packet()
	if a := n.ask(`{"id": 1, "ask": "counts", "handler": 1}`); a.Error == "" {
		t.Errorf("a page of a tracer that has none: %+v", a)
	}
	given := 0
	h.options.Page = func(pid int, tensors bool, handler, live uint64) (int, error) {
		if pid != 7 || tensors || handler != 1<<63 || live != 5 {
			t.Errorf("asked for process %d, %d, %d", pid, handler, live)
		}
		if given++; given > 1 {
			return -1, errors.New(strings.Repeat("no ", 10_000))
		}
		return pipe[1], nil
	}
	n.send(`{"id": 2, "ask": "counts", "handler": 9223372036854775808, "live": 5}`)
	n.say()
	text, rights := make([]byte, 100), make([]byte, 100)
	size, all, _, _, err := unix.Recvmsg(n.end, text, rights, 0)
	if err != nil || string(text[:size]) != `{"id":2,"counts":true}` {
		t.Fatalf("%s, %v", text[:max(size, 0)], err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:all])
	if err != nil || len(messages) != 1 {
		t.Fatalf("%v, %v", messages, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatalf("%v, %v", fds, err)
	}
	unix.Close(fds[0])
	if got, err := unix.Read(pipe[0], make([]byte, 1)); got != 0 || err != nil { // the end: nobody has it
		t.Errorf("the hub has kept the page: %d, %v", got, err)
	}
	if a := n.ask(`{"id": 3, "ask": "counts", "handler": 9223372036854775808, "live": 5}`); len(a.Error) > maxText {
		t.Errorf("%d bytes of an error", len(a.Error))
	}
	for _, wrong := range []string{`"handler": -1`, `"live": 1e30`, `"handler": "x"`} {
		if a := n.ask(`{"id": 4, "ask": "counts", ` + wrong + `}`); a.Error == "" {
			t.Errorf("%s: %+v", wrong, a)
		}
	}
	if given != 2 {
		t.Errorf("%d questions to the session, want 2", given)
	}
	h.options.Page = func(pid int, tensors bool, handler, live uint64) (int, error) {
		return -1, fmt.Errorf("%d %v %d %d", pid, tensors, handler, live)
	}
	if a := n.ask(`{"id": 5, "ask": "tensors"}`); a.Error != "7 true 0 0" {
		t.Errorf("a page for tensors: %q", a.Error)
	}
}

// TestStorm: a window with a meter that was paused, or with samples, of arrays or tensors, is one that the process
// could count itself, unless it does so already.
func TestStorm(t *testing.T) {
	zero := int64(0)
	for _, c := range []struct {
		meter   string
		f       model.Figure
		sampled bool
		want    bool
	}{
		{"cpu.numpy", model.Figure{}, false, true},
		{"cpu.torch", model.Figure{}, false, true},
		{"cpu.torch", model.Figure{Exact: true, Bound: &zero}, false, false},
		{"cpu.torch", model.Figure{Exact: true, Bound: &zero}, true, true},
		{"cpu.torch", model.Figure{Bound: &zero}, false, false},
		{"cpu.torch", model.Figure{Accuracy: model.CountedInProcess}, true, false},
		{"cpu.arrow", model.Figure{}, true, false},
	} {
		w := model.Window{Meters: map[string]model.Figure{c.meter: c.f}}
		if got := isStorm(w, []model.Allocation{{Meter: c.meter, Sampled: c.sampled}}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

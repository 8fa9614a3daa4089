//go:build cgo

package gpu

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestStrangeAnswers: everything that comes from the other side is bounded, and an answer that makes no sense ends the
// helper.
func TestStrangeAnswers(t *testing.T) {
	many := Snapshot{Devices: make([]Device, maxNamed+1)}
	for name, message := range map[string][]byte{
		"nothing": {}, "short": {1, 0}, "another's": packet(2, helperAnswer{}), "no JSON": append(question(1), "{"...),
		"too long":         make([]byte, maxAnswer+1),
		"too many devices": packet(1, helperAnswer{Snapshot: many}),
	} {
		if _, err := parse(message, 1); !errors.Is(err, errMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var processes []Process
	for pid := range 10_000 {
		processes = append(processes, Process{PID: pid, Used: 1 << 40, UsedKnown: true})
	}
	a, err := parse(packet(7, helperAnswer{Snapshot: Snapshot{Devices: []Device{{Processes: processes}}}}), 7)
	if err != nil || a.err() == nil {
		t.Errorf("%v %v", err, a.err())
	}
	long := strings.Repeat("x", maxAnswer)
	if a := newHelperAnswer(Snapshot{}, errors.New(long)); len(a.Failed) != maxText {
		t.Error(len(a.Failed))
	}
	if a := newHelperAnswer(Snapshot{}, &NoNVMLError{Detail: long}); len(a.None.Detail) != maxText {
		t.Error(len(a.None.Detail))
	}
}

// TestStrangeQuestions: one that is too long, too short, or too early ends the helper.
func TestStrangeQuestions(t *testing.T) {
	standIn(t, machine)
	for _, messages := range [][][]byte{{{1}}, {make([]byte, 5)}, {make([]byte, 1<<16)}} {
		h := start(t, nil)
		for _, m := range messages {
			if _, err := h.conn.Write(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, err := h.conn.Read(make([]byte, 10)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

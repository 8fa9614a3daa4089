package tracer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// TestCertificate: the gap of a meter is reported once, since the first time; of many problems a hundred are reported,
// and all count.
func TestCertificate(t *testing.T) {
	var c tracee.Certificate
	c.Misses(7, 20, []event.Meter{event.NumPy, event.Torch}, "pid %d", 7)
	c.Misses(7, 10, []event.Meter{event.NumPy}, "pid %d", 7)
	c.Misses(8, 30, []event.Meter{event.NumPy}, "pid %d", 8)
	want := []event.Unprobed{{PID: 7, Meter: event.NumPy, Since: 10}, {PID: 7, Meter: event.Torch, Since: 20},
		{PID: 8, Meter: event.NumPy, Since: 30}}
	if !slices.Equal(c.Unprobed, want) {
		t.Errorf("%+v, want %+v", c.Unprobed, want)
	}
	for range 200 {
		c.Misses(9, 0, nil, "again")
	}
	if len(c.Trouble) != 100 || c.Missing != 203 {
		t.Errorf("%d problems are told, %d counted", len(c.Trouble), c.Missing)
	}
	c.CountUnseen()
	lost := c.Lost([]event.Loss{{Reason: ledger.LostChanges, Count: 5}})
	if want := []event.Loss{{Reason: ledger.LostChanges, Count: 5}, {Reason: event.LostUnseen, Count: 1},
		{Reason: event.LostProbes, Count: 203}}; !slices.Equal(lost, want) {
		t.Errorf("%+v, want %+v", lost, want)
	}
}

// TestCertificateOfSilence: a file system that does not answer is reported once, and no other failure.
func TestCertificateOfSilence(t *testing.T) {
	var c tracee.Certificate
	silent := fmt.Errorf("/mnt: %w", process.ErrNoAnswer)
	for _, err := range []error{silent, silent, process.ErrNoProcess, nil} {
		c.NoteSilence(err)
	}
	if len(c.Trouble) != 1 || c.Missing != 1 {
		t.Errorf("%q, %d counted", c.Trouble, c.Missing)
	}
}

// TestCertificateOfUses: each place of a group is listed once, with the number of hits; a group without places is not
// listed.
func TestCertificateOfUses(t *testing.T) {
	var c tracee.Certificate
	for _, where := range []string{"a+0", "b+0", "a+0"} {
		c.NoteUse(ledger.GroupCell, where)
	}
	var hits [ledger.GroupCount]uint64
	hits[ledger.GroupCell], hits[ledger.GroupSignal] = 3, 4
	price := func(g ledger.Group) time.Duration { return 500 * time.Nanosecond * time.Duration(1+g-ledger.GroupCell) }
	for _, why := range []string{"why", "why else"} {
		c.NoteDear(ledger.GroupCell, why)
	}
	want := event.ProbeUse{Probe: ledger.GroupCell.String(), Site: "a+0; b+0", Hits: 3, Cost: 1500, Dear: "why"}
	if used := c.Used(hits, price); len(used) != 1 || used[0] != want {
		t.Errorf("%+v, want %+v", used, want)
	}
}

// TestDearProbes: the cost of dear probes is known while a session runs; without a session there is none.
func TestDearProbes(t *testing.T) {
	k := &fakeKernel{}
	s := attached(t, k, Options{})
	s.certificate.NoteUse(ledger.GroupNumPy, "PyTraceMalloc_Track+7")
	k.hits[ledger.GroupNumPy] = 1000
	if dear := DearProbes(s); len(dear) != 0 {
		t.Errorf("%+v: nothing is dear", dear)
	}
	s.certificate.NoteDear(ledger.GroupNumPy, "why")
	if dear := DearProbes(s); len(dear) != 1 || dear[0].Hits != 1000 || dear[0].Dear != "why" ||
		dear[0].Cost < 400_000 {
		t.Errorf("%+v", dear)
	}
	if dear := DearProbes(nil); len(dear) != 0 {
		t.Errorf("%+v of no session", dear)
	}
}

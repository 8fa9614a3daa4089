package tracer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// TestCertificate: the gap of a meter is reported once, since the first time; of many problems a hundred are reported,
// and all count.
func TestCertificate(t *testing.T) {
	var c certificate
	c.misses(7, 20, []event.Meter{event.NumPy, event.Torch}, "pid %d", 7)
	c.misses(7, 10, []event.Meter{event.NumPy}, "pid %d", 7)
	c.misses(8, 30, []event.Meter{event.NumPy}, "pid %d", 8)
	want := []event.Blind{{PID: 7, Meter: event.NumPy, Since: 10}, {PID: 7, Meter: event.Torch, Since: 20},
		{PID: 8, Meter: event.NumPy, Since: 30}}
	if !slices.Equal(c.blind, want) {
		t.Errorf("%+v, want %+v", c.blind, want)
	}
	for range 200 {
		c.misses(9, 0, nil, "again")
	}
	if len(c.trouble) != 100 || c.missing != 203 {
		t.Errorf("%d problems are told, %d counted", len(c.trouble), c.missing)
	}
	c.countUnseen()
	lost := c.losses([]event.Loss{{Reason: ledger.LostChanges, Count: 5}})
	if want := []event.Loss{{Reason: ledger.LostChanges, Count: 5}, {Reason: event.LostUnseen, Count: 1},
		{Reason: event.LostProbes, Count: 203}}; !slices.Equal(lost, want) {
		t.Errorf("%+v, want %+v", lost, want)
	}
}

// TestCertificateOfSilence: a file system that does not answer is reported once, and no other failure.
func TestCertificateOfSilence(t *testing.T) {
	var c certificate
	silent := fmt.Errorf("/mnt: %w", process.ErrNoAnswer)
	for _, err := range []error{silent, silent, process.ErrNoProcess, nil} {
		c.noteSilence(err)
	}
	if len(c.trouble) != 1 || c.missing != 1 {
		t.Errorf("%q, %d counted", c.trouble, c.missing)
	}
}

// TestCertificateOfUses: each place of a group is listed once, with the number of hits; a group without places is not
// listed.
func TestCertificateOfUses(t *testing.T) {
	var c certificate
	for _, where := range []string{"a+0", "b+0", "a+0"} {
		c.noteUse(ledger.GroupCell, where)
	}
	var hits [ledger.GroupCount]uint64
	hits[ledger.GroupCell], hits[ledger.GroupSignal] = 3, 4
	price := func(g ledger.Group) time.Duration { return 500 * time.Nanosecond * time.Duration(1+g-ledger.GroupCell) }
	for _, why := range []string{"why", "why else"} {
		c.noteDear(ledger.GroupCell, why)
	}
	want := event.ProbeUse{Probe: ledger.GroupCell.String(), Site: "a+0; b+0", Hits: 3, Cost: 1500, Dear: "why"}
	if used := c.used(hits, price); len(used) != 1 || used[0] != want {
		t.Errorf("%+v, want %+v", used, want)
	}
}

// TestDearProbes: the cost of dear probes is known while a session runs; without a session there is none.
func TestDearProbes(t *testing.T) {
	k := &fakeKernel{}
	s := attached(t, k, Options{})
	s.noteUse(ledger.GroupNumPy, "PyTraceMalloc_Track+7")
	k.hits[ledger.GroupNumPy] = 1000
	if dear := DearProbes(s); len(dear) != 0 {
		t.Errorf("%+v: nothing is dear", dear)
	}
	s.noteDear(ledger.GroupNumPy, "why")
	if dear := DearProbes(s); len(dear) != 1 || dear[0].Hits != 1000 || dear[0].Dear != "why" ||
		dear[0].Cost < 400_000 {
		t.Errorf("%+v", dear)
	}
	if dear := DearProbes(nil); len(dear) != 0 {
		t.Errorf("%+v of no session", dear)
	}
}

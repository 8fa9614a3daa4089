package ledger

import (
	"testing"
	"unsafe"

	"ipytracer/event"
)

// overtaking writes records into the store as a CPU does: it also draws the ticket of a record that is not written yet.
type overtaking struct {
	l       *Ledger
	first   uint64
	records [3]kernelBoundary
}

func overtakes(t *testing.T) *overtaking {
	t.Helper()
	o := &overtaking{l: load(t, Options{})}
	o.draw(t)
	return o
}

// draw draws the tickets of all records.
func (o *overtaking) draw(t *testing.T) {
	t.Helper()
	o.first = o.l.Stream.expected
	for i := range o.records {
		o.records[i].Ticket, o.records[i].Number, o.records[i].Pid = o.first+uint64(i), uint64(i+1), 42
		o.records[i].Kind = uint32(kernelBoundaryKindBOUNDARY_ATTACHED)
	}
	if err := o.l.objects.NextTicket.Set(o.first + uint64(len(o.records))); err != nil {
		t.Fatal(err)
	}
}

// write puts a record into the store.
func (o *overtaking) write(t *testing.T, i int) {
	if err := o.l.objects.Store.Put(uint32(o.records[i].Ticket&(maxStored-1)), &o.records[i]); err != nil {
		t.Error(err)
	}
}

// raw returns a record as the ring has it.
func (o *overtaking) raw(i int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&o.records[i])), unsafe.Sizeof(o.records[i]))
}

func (o *overtaking) check(t *testing.T, c *collected, want ...uint64) {
	t.Helper()
	var got []uint64
	for _, b := range c.boundaries {
		got = append(got, b.Number)
	}
	if len(got) != len(want) {
		t.Fatalf("boundaries %d, want %d", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("boundaries %d, want %d", got, want)
		}
	}
	var acknowledged uint64
	if err := o.l.objects.Acknowledged.Get(&acknowledged); err != nil ||
		acknowledged != o.records[len(o.records)-1].Ticket {
		t.Errorf("acknowledged up to %d, %v; the last one is %d", acknowledged, err, o.records[len(o.records)-1].Ticket)
	}
}

// TestOvertakenRecord: CPUs draw boundaries at the same time. The one with the later ticket is complete first; the
// earlier one is still being written when the later one is read. All are handed on, in the order of their tickets.
func TestOvertakenRecord(t *testing.T) {
	o := overtakes(t)
	o.write(t, 1)
	o.l.Stream.overtaken.meanwhile = func() { o.write(t, 0) }
	var c collected
	for _, i := range []int{1, 0} {
		if err := o.l.Stream.deliver(o.raw(i), &c); err != nil {
			t.Fatal(err)
		}
	}
	o.write(t, 2)
	if err := o.l.Stream.deliver(o.raw(2), &c); err != nil {
		t.Fatal(err)
	}
	o.check(t, &c, 1, 2, 3)
	if o.l.Stream.overtaken.waited != 1 || len(o.l.Losses()) > 0 {
		t.Errorf("waited for %d, %v", o.l.Stream.overtaken.waited, o.l.Losses())
	}
}

// TestPollDoesNotWait: a record that is being written, with no complete record after it, is left to the next poll.
func TestPollDoesNotWait(t *testing.T) {
	o := overtakes(t)
	o.write(t, 0)
	o.write(t, 2)
	var c collected
	poll(t, o.l, &c)
	if len(c.boundaries) != 1 || o.l.Stream.overtaken.waited != 0 {
		t.Fatalf("%d boundaries, waited for %d", len(c.boundaries), o.l.Stream.overtaken.waited)
	}
	o.write(t, 1)
	poll(t, o.l, &c)
	o.check(t, &c, 1, 2, 3)
}

// TestDrainWaits: the end of a session waits for records that are being written.
func TestDrainWaits(t *testing.T) {
	o := overtakes(t)
	o.write(t, 0)
	o.l.Stream.overtaken.meanwhile = func() {
		o.write(t, 2)
		o.write(t, 1)
	}
	var c collected
	if err := o.l.Stream.Drain(&c); err != nil {
		t.Fatal(err)
	}
	o.check(t, &c, 1, 2, 3)
	if len(o.l.Losses()) > 0 {
		t.Error(o.l.Losses())
	}
}

// TestEachIsWaitedFor: after a slow record, the next one gets the full waiting time, too.
func TestEachIsWaitedFor(t *testing.T) {
	o := overtakes(t)
	next := 0
	o.l.Stream.overtaken.meanwhile = func() {
		o.write(t, next)
		next++
	}
	var c collected
	if err := o.l.Stream.Drain(&c); err != nil {
		t.Fatal(err)
	}
	o.check(t, &c, 1, 2, 3)
	if o.l.Stream.overtaken.waited != 3 {
		t.Errorf("%d waits were begun for 3 records", o.l.Stream.overtaken.waited)
	}
}

// TestNeverWritten: a record that does not come is lost, and counts as lost; later records are not.
func TestNeverWritten(t *testing.T) {
	o := overtakes(t)
	o.write(t, 0)
	o.write(t, 2)
	var c collected
	if err := o.l.Stream.Drain(&c); err != nil {
		t.Fatal(err)
	}
	o.check(t, &c, 1, 3)
	if lost := o.l.Losses(); len(lost) != 1 || lost[0] != (event.Loss{Reason: event.LostRecords, Count: 1}) ||
		!lost[0].IsLoss() {
		t.Errorf("lost %v", lost)
	}
	o.write(t, 1) // too late: no record is handed on twice, or out of order
	if err := o.l.Stream.deliver(o.raw(1), &c); err != nil {
		t.Fatal(err)
	}
	o.check(t, &c, 1, 3)
}

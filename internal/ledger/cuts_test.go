package ledger

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
)

// TestCutsAmongChanges: every maximum that a boundary takes is one of three values: at an end of the segment, in a
// change of the segment, or in a change made while a boundary was being drawn. This holds though another thread touches
// and frees pages all the time. Boundaries linger here between taking the maxima and ending the segment. A value in
// between was once in the next segment's maximum and in no change, if the last segment had been higher: without
// lingering, a proof was a page short once in 25,000 windows; with it, three times in ten.
func TestCutsAmongChanges(t *testing.T) {
	if os.Getenv("LEDGER_FALLS") != "" {
		fall()
		return
	}
	l := load(t, Options{lingering: 200})
	pid, _, _, _ := again(t, l, "LEDGER_FALLS")
	var c collected
	for rounds := 0; rounds < 50 || rounds < 5000 && c.segmentsOf(event.ResidentAnon) < 100; rounds++ {
		for range 40 {
			if err := l.Processes.Detach(pid); err != nil { // any kind of boundary
				t.Fatal(err)
			}
			if err := l.Stream.Poll(time.Now().Add(20*time.Microsecond), &c); err != nil {
				t.Fatal(err)
			}
		}
		poll(t, l, &c)
	}
	for _, loss := range l.Losses() {
		if loss.Count != 0 {
			t.Fatalf("%d %v", loss.Count, loss.Reason)
		}
	}
	sure, between := map[uint64]event.Bytes{}, map[uint64]map[event.Bytes]bool{}
	for i := range c.changes {
		switch e := &c.changes[i]; {
		case e.Meter != event.ResidentAnon:
		case e.Passed > 0:
			for side := e.Segment; side <= e.Segment+uint64(e.Passed); side++ {
				if between[side] == nil {
					between[side] = map[event.Bytes]bool{}
				}
				between[side][e.Value] = true
			}
		default:
			sure[e.Segment] = max(sure[e.Segment], e.Value)
		}
	}
	if len(c.boundaries) < 2000 || len(sure) < 100 {
		t.Fatalf("%d boundaries, changes in %d segments: nothing was tested", len(c.boundaries), len(sure))
	}
	wrong := 0
	for i, b := range c.boundaries[1:] {
		before := c.boundaries[i]
		least, high := max(before.Value[event.ResidentAnon], b.Value[event.ResidentAnon], sure[b.Segment]),
			b.High[event.ResidentAnon]
		if high < least || high > least && !between[b.Segment][high] {
			if wrong++; wrong < 5 {
				t.Errorf("segment %d: the maximum is %d, the values and changes make it %d", b.Segment, high, least)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d segments of %d", wrong, len(c.boundaries))
	}
}

// segmentsOf returns the number of segments in which a meter changed.
func (c *collected) segmentsOf(m event.Meter) int {
	in := map[uint64]bool{}
	for _, e := range c.changes {
		if e.Meter == m && e.Passed == 0 {
			in[e.Segment] = true
		}
	}
	return len(in)
}

// fall maps one page and frees two, again and again, so that each segment is lower than the one before.
func fall() {
	const pages, size = 1 << 15, 4096
	fmt.Println("ready")
	for {
		m, err := unix.Mmap(-1, 0, 2*pages*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			panic(err)
		}
		_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // a kernel without huge pages has no such advice
		taken, more := m[:pages*size], m[pages*size:]
		for i := 0; i < len(taken); i += size {
			taken[i] = 1
		}
		for i := 0; i < len(taken); i += 2 * size {
			more[i] = 1
			if err := unix.Madvise(taken[i:i+2*size], unix.MADV_DONTNEED); err != nil {
				panic(err)
			}
		}
		if err := unix.Munmap(m); err != nil {
			panic(err)
		}
	}
}

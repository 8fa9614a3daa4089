package recording

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

func TestEveryFieldRoundTrips(t *testing.T) {
	// Two passes, so that the second also sees memory the first one used.
	f := distinct()
	first, second := filled(f), filled(f)
	events := append(first[:len(first)-1], second[1:]...) // a recording begins once and ends once
	compare(t, readAll(t, mustOpen(t, record(t, events, 3))), events)
}

func TestZeroEventsRoundTrip(t *testing.T) {
	compare(t, readAll(t, mustOpen(t, record(t, blank(), 0))), blank())
}

func TestEveryKindAndOutcome(t *testing.T) {
	var events []event.Event
	for k := range event.BoundaryKind(boundaryKinds()) {
		for o := range outcomeNames {
			events = append(events, &event.Boundary{Kind: k, Outcome: event.Outcome(o)})
		}
	}
	for g := range event.Groups {
		probes := ""
		if g == event.OtherProbes {
			probes = "the probes on x were stepped down"
		}
		events = append(events, &event.Boundary{Kind: event.MeterShed, Group: g, Probes: probes},
			&event.Boundary{Kind: event.MeterBack, Group: g, Probes: probes})
	}
	for m := range event.Meter(event.MeterCount) {
		events = append(events, &event.Change{Meter: m})
	}
	events = append(events, &event.Finish{})
	compare(t, readAll(t, mustOpen(t, record(t, events, 0))), events)
}

func TestWildEventsRoundTrip(t *testing.T) {
	texts := []string{"", "x", "größer\n\x00\x1b[31m", strings.Repeat("line\n", 3000), "\u2028</script>"}
	for seed := range attributiontest.Seeds(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		f := wild(r, texts)
		var events []event.Event
		for range r.IntN(2500) {
			all := filled(f)
			pick := all[1+r.IntN(len(all)-2)]
			if r.IntN(3) > 0 {
				pick = all[4]
			}
			events = append(events, pick)
		}
		events = append(events, filled(f)[len(blank())-1])
		compare(t, readAll(t, mustOpen(t, record(t, events, r.IntN(300)))), events)
	}
}

func TestTextsThatAreNotUTF8(t *testing.T) {
	events := []event.Event{
		&event.CellSource{Cell: 1, Text: "x = '\xff\xfe'\x80"},
		&event.Boundary{Kind: event.ExperimentBegin, Experiment: "\xc3\x28"},
		&event.CellSource{Cell: 2, Text: "fine"},
		&event.Finish{},
	}
	compare(t, readAll(t, mustOpen(t, record(t, events, 0))), events)
}

func TestRefusedEventsLeaveNoTrace(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, "")
	if err != nil {
		t.Fatal(err)
	}
	good := &event.Change{Stream: 1}
	for _, e := range []event.Event{
		&event.Change{Meter: event.MeterCount}, &event.Boundary{Kind: 200}, &event.Boundary{Outcome: 99},
		&event.CellSource{Text: strings.Repeat("x", maxText+1)}, &event.Start{Meters: []event.MeterSource{{Meter: 99}}},
		nil,
	} {
		if err := w.Write(e); !errors.Is(err, ErrEvent) {
			t.Errorf("%T: %v, want ErrEvent", e, err)
		}
		if err := w.Write(good); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Write(&event.Finish{}), w.Close()); err != nil {
		t.Fatal(err)
	}
	compare(t, readAll(t, mustOpen(t, out.Bytes())), []event.Event{good, good, good, good, good, good, &event.Finish{}})
	if err := w.Write(good); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write after close: %v", err)
	}
}

// fullDisk takes a number of bytes and no more.
type fullDisk struct{ left int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(d.left, len(p))
	d.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriteErrorSticks(t *testing.T) {
	size := len(record(t, filled(distinct()), 1))
	for left := 0; left < size; left += 149 { // no batch begins at each multiple of a prime
		disk := &fullDisk{left: left}
		w, err := NewWriter(disk, "1.2.3")
		for _, e := range filled(distinct()) {
			if err != nil {
				break
			}
			if err = w.Write(e); err == nil {
				err = w.Flush()
			}
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: %v", left, err)
		}
		if w == nil {
			continue
		}
		disk.left = 1 << 20 // room again, but the batch is broken: nothing may follow it
		for _, again := range []error{w.Write(&event.Change{}), w.Flush(), w.Close()} {
			if !errors.Is(again, errFull) {
				t.Fatalf("after the failure: %v", again)
			}
		}
		if disk.left != 1<<20 {
			t.Fatal("it wrote behind a broken batch")
		}
	}
}

func TestWriterMemoryIsBounded(t *testing.T) {
	w, err := NewWriter(io.Discard, "")
	if err != nil {
		t.Fatal(err)
	}
	f := distinct()
	mixed := filled(f)
	source := &event.CellSource{Text: strings.Repeat("x = 1\n", 20_000)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 200_000 {
		e := mixed[i%len(mixed)]
		if i%1000 == 0 {
			e = source
		}
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	runtime.KeepAlive(w)
	t.Logf("writer holds %d KiB", grown>>10)
	if grown > 8<<20 {
		t.Errorf("writer holds %d bytes", grown)
	}
}

// TestLongestText writes the longest texts that the writer accepts: the reader's limits must not be below.
func TestLongestText(t *testing.T) {
	events := []event.Event{
		&event.CellSource{Text: strings.Repeat("a", maxPending-100)},
		&event.CellSource{Text: strings.Repeat("a\xff", maxText/2)},
		&event.Boundary{Kind: event.CellOpen, File: strings.Repeat("\n", maxText)},
		&event.Finish{Problems: []string{strings.Repeat("p", maxText-200)}},
	}
	compare(t, readAll(t, mustOpen(t, record(t, events, 0))), events)
}

// TestLullsCostNoRow: a lull is in front of the row that follows it, of any kind, and costs no row of its own. One
// behind the last row changes nothing.
func TestLullsCostNoRow(t *testing.T) {
	lull, gpu := &event.Lull{}, &event.Boundary{Number: 2, Kind: event.CellOpen, PID: 1}
	gpu.Value[event.OfDevice(1, event.Driver)] = 4096 // has a row of the device's in front of it
	events := []event.Event{
		&event.Process{ProcessInfo: event.ProcessInfo{PID: 1}}, lull, gpu, lull, &event.Change{Stream: 1, PID: 1},
		&event.Change{Stream: 2, PID: 1}, lull,
		&event.Settled{Finish: event.Finish{Time: 7, Reason: "interrupted", Unnamed: []string{"x"}}, Holders: true},
		lull, &event.Finish{Time: 8},
	}
	for flushEvery := range 4 {
		file := record(t, append(slices.Clone(events), lull), flushEvery)
		compare(t, readAll(t, mustOpen(t, file)), events)
	}
	twice := []event.Event{lull, lull, &event.Finish{}}
	compare(t, readAll(t, mustOpen(t, record(t, twice, 0))), twice[1:])
	each := []event.Event{}
	if err := mustOpen(t, record(t, events, 2)).Each(t.Context(), func(e event.Event) {
		switch e := e.(type) {
		case *event.Boundary:
			one := *e
			each = append(each, &one)
		case *event.Change:
			one := *e
			each = append(each, &one)
		default:
			each = append(each, e)
		}
	}); err != nil {
		t.Fatal(err)
	}
	compare(t, each, events)
}

// TestSettledAndCut: a recording that ends after its figures were known, and before its end, was cut.
func TestSettledAndCut(t *testing.T) {
	events := []event.Event{&event.Settled{Finish: event.Finish{Time: 7, Reason: "interrupted"}}}
	all := readAll(t, mustOpen(t, record(t, events, 0)))
	if f, is := all[len(all)-1].(*event.Finish); len(all) != 2 || !is || f.Reason != ReasonCut || f.Time != 7 {
		t.Errorf("%d events, the last %+v", len(all), all[len(all)-1])
	}
}

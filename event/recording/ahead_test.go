package recording

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"ipytracer/event"
)

// many returns enough events to use the memory of all runs again and again, boundaries with GPUs among them.
func many() (events []event.Event) {
	all := changes(2 * chunks * chunkEvents)
	for i := range all {
		events = append(events, &all[i])
		if i%3 == 0 {
			b := &event.Boundary{Kind: event.CellOpen, Number: uint64(i), Time: event.Nanoseconds(i), File: "cell"}
			b.Value[0], b.High[event.OfDevice(i%event.MaxDevices, event.Driver)] = event.Bytes(i), 7
			events = append(events, b)
		}
	}
	session := small()
	return slices.Concat(session[:1], events, session[1:]) // a recording begins once
}

// each reads events with [Reader.Each], and copies those that share memory.
func each(ctx context.Context, r *Reader) (all []event.Event, err error) {
	err = r.Each(ctx, func(e event.Event) {
		switch x := e.(type) {
		case *event.Boundary:
			one := *x
			e = &one
		case *event.Change:
			one := *x
			e = &one
		}
		all = append(all, e)
	})
	return all, err
}

// TestEachYieldsTheEventsOfNext: it yields the events of Next, even of a recording that was cut or damaged.
func TestEachYieldsTheEventsOfNext(t *testing.T) {
	for _, events := range [][]event.Event{small(), many(), changesOnly(chunkEvents), changesOnly(chunkEvents + 1)} {
		file := record(t, events, 100)
		damaged := bytes.Clone(file)
		damaged[len(damaged)/2] ^= 1
		for _, one := range [][]byte{file, file[:len(file)-1], file[:2*len(file)/3], damaged} {
			got, err := each(context.Background(), mustOpen(t, one))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, readAll(t, mustOpen(t, one)))
		}
	}
}

func changesOnly(n int) (events []event.Event) {
	for _, c := range changes(n) {
		events = append(events, &c)
	}
	return events
}

// TestEachLeavesTheReader: Next continues after it, with events that the caller may keep.
func TestEachLeavesTheReader(t *testing.T) {
	events := many()
	file := record(t, events, 100)
	r := mustOpen(t, file)
	ctx, cancel := context.WithCancel(context.Background())
	taken := 0
	if err := r.Each(ctx, func(event.Event) { taken++; cancel() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if taken == 0 || taken > chunkEvents {
		t.Errorf("it took %d events", taken)
	}
	rest := readAll(t, r)
	compare(t, rest, readAll(t, mustOpen(t, file))[len(events)-len(rest):])
}

// TestEachFails: an error of the file comes behind the events before it, and one of the context's at once.
func TestEachFails(t *testing.T) {
	file := record(t, many(), 100)
	bad := errors.New("input/output error")
	broken := func() io.Reader { return io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(bad)) }
	r, err := Open(broken())
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for err == nil {
		if _, err = r.Next(context.Background()); err == nil {
			before++
		}
	}
	if r, err = Open(broken()); err != nil {
		t.Fatal(err)
	}
	got, err := each(context.Background(), r)
	if !errors.Is(err, bad) || len(got) != before {
		t.Errorf("%d events, then %v; Next gives %d", len(got), err, before)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := each(ctx, mustOpen(t, file)); !errors.Is(err, context.Canceled) || len(got) > 0 {
		t.Errorf("%d events, then %v", len(got), err)
	}
}

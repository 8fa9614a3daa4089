package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"ipytracer/event"
)

// filler fills structs by reflection, so that a field added to an event is in the tests by itself.
type filler struct {
	number func() uint64
	text   func() string
	length func() int // of lists; -1 for nil
}

// distinct gives every field a value of its own, none of them zero.
func distinct() *filler {
	n := uint64(0)
	next := func() uint64 { n++; return n }
	return &filler{
		number: next, text: func() string { return fmt.Sprintf("text %d", next()) }, length: func() int { return 2 },
	}
}

// wild gives fields the values that break things.
func wild(r *rand.Rand, texts []string) *filler {
	return &filler{
		number: func() uint64 {
			switch r.IntN(4) {
			case 0:
				return 0
			case 1:
				return ^uint64(0) >> r.IntN(2)
			case 2:
				return 1 << r.IntN(64)
			}
			return r.Uint64()
		},
		text:   func() string { return texts[r.IntN(len(texts))] },
		length: func() int { return r.IntN(4) - 1 },
	}
}

func (f *filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case event.Meter:
		v.SetUint(f.number() % event.MeterCount)
		return
	case event.Caller:
		v.SetUint(f.number() % 19)
		return
	case event.Outcome:
		v.SetUint(1 + f.number()%uint64(len(outcomeNames)-1))
		return
	case event.BoundaryKind:
		v.SetUint(1 + f.number()%uint64(boundaryKinds()-1))
		return
	case event.Group:
		v.SetUint(f.number() % uint64(event.Groups))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
		if b, is := v.Addr().Interface().(*event.Boundary); is {
			unsaid(b)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Slice:
		if n := f.length(); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i))
			}
		}
	case reflect.Pointer:
		if f.length() >= 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.number()%8 != 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		unused := 64 - v.Type().Bits()
		v.SetInt(int64(f.number()) << unused >> unused)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.number() & (1<<v.Type().Bits() - 1))
	default:
		panic("a field of type " + v.Type().String() + ": teach the filler and the recording about it")
	}
}

// unsaid removes fields that no tracer sets for some kinds of frees and of boundaries.
func unsaid(b *event.Boundary) {
	for kind, c := range unknownColumns {
		if c.slack == none {
			b.Slack[kind] = 0
		}
		if c.unsure == none {
			b.Unsure[kind] = 0
		}
	}
	if !b.Container.Parts.Known {
		b.Container.Parts = event.ContainerParts{}
	}
	for _, text := range []*string{&b.File, &b.Exception, &b.Experiment, &b.Command, &b.Descriptor} {
		if text != b.Text() {
			*text = ""
		}
	}
	switch {
	case !isOfGroup(b.Kind):
		b.Group, b.Probes = 0, ""
	case b.Group != event.OtherProbes || b.Probes == "":
		b.Group, b.Probes = b.Group%event.OtherProbes, ""
	}
}

func boundaryKinds() int {
	for k := range event.BoundaryKind(255) {
		if k.String() == "unknown" {
			return int(k)
		}
	}
	return 255
}

// blank returns one empty event of every type.
func blank() []event.Event {
	return []event.Event{
		&event.Start{}, &event.Process{}, &event.Boundary{}, &event.Reading{},
		&event.Change{}, &event.Refusal{}, &event.Foreign{}, &event.CellSource{}, &event.Stack{}, &event.Holders{},
		&event.Variables{}, &event.Residence{}, &event.Limits{}, &event.Ending{}, &event.Finish{},
	}
}

// filled returns one event of every type.
func filled(f *filler) []event.Event {
	all := blank()
	for _, e := range all {
		f.fill(reflect.ValueOf(e).Elem())
	}
	return all
}

// changes is n changes as a busy cell makes them: NumPy blocks and pages.
func changes(n int) []event.Change {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]event.Change, n)
	at, mapped, numpy := event.Nanoseconds(8_123_456_789_000), event.Bytes(600<<20), event.Bytes(100<<20)
	for i := range list {
		at += event.Nanoseconds(500 + r.IntN(3000))
		c := event.Change{
			Stream: uint64(i + 1), Segment: uint64(i / 5000), Time: at, PID: 4242, TID: 4242 + int32(r.IntN(3)),
		}
		if i%3 == 0 {
			mapped += event.Bytes(r.IntN(64)-31) << 12
			c.Meter, c.Value = event.Mapped, mapped
		} else {
			c.Size = event.Bytes(r.IntN(1<<20)) - 1<<19
			numpy += c.Size
			c.Meter, c.Value, c.Address = event.NumPy, numpy, 0x7f12_0000_0000+uint64(r.IntN(1<<30))&^15
		}
		list[i] = c
	}
	return list
}

// record writes events, a batch after each flushEvery of them, and returns the file.
func record(t testing.TB, events []event.Event, flushEvery int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if err := w.Write(e); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if flushEvery > 0 && (i+1)%flushEvery == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll reads events up to io.EOF.
func readAll(t testing.TB, r *Reader) []event.Event {
	t.Helper()
	var all []event.Event
	for {
		e, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func mustOpen(t testing.TB, file []byte) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compare(t testing.TB, got, want []event.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("event %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

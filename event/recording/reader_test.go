package recording

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"ipytracer/event"
)

// small returns a little recording of several batches.
func small() []event.Event {
	f := distinct()
	last := len(blank()) - 1
	events := append(filled(f)[:last], filled(f)[1:last]...)
	for _, c := range changes(5) {
		events = append(events, &c)
	}
	return append(events, filled(f)[last])
}

// places returns every fifth of n places in a file and the last, so that each bit of a byte is met. It returns all of
// them with TRACER_EVERYTHING=1, as `make everything` sets it.
func places(n int) iter.Seq[int] {
	step := 5
	if os.Getenv("TRACER_EVERYTHING") == "1" {
		step = 1
	}
	return func(yield func(int) bool) {
		for i := 0; i < n-1; i += step {
			if !yield(i) {
				return
			}
		}
		yield(n - 1)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	events := small()
	file := record(t, events, len(events)/2+1)
	header := len(schemaOnly(t))
	most := 0
	for n := range places(len(file) + 1) {
		r, err := Open(bytes.NewReader(file[:n]))
		if n < header {
			if !errors.Is(err, ErrNotRecording) {
				t.Fatalf("%d of %d header bytes: %v", n, header, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		got := readAll(t, r)
		last, ok := got[len(got)-1].(*event.Finish)
		if !ok {
			t.Fatalf("%d bytes: the last event is a %T", n, got[len(got)-1])
		}
		if last.Reason == ReasonCut {
			got = got[:len(got)-1]
			if say := last.Problems; len(say) != 1 ||
				(len(got) > 0 && !strings.Contains(say[0], fmt.Sprintf("%d events", len(got)))) {
				t.Fatalf("%d bytes, %d events: problems %q", n, len(got), say)
			}
		}
		compare(t, got, events[:len(got)])
		if len(got) < most {
			t.Fatalf("%d bytes give %d events, fewer bytes gave %d", n, len(got), most)
		}
		most = len(got)
		if e, err := r.Next(context.Background()); err != io.EOF {
			t.Fatalf("behind the end: %v, %v", e, err)
		}
	}
	if most != len(events) {
		t.Fatalf("the whole file gives %d events of %d", most, len(events))
	}
}

func schemaOnly(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := NewWriter(&out, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestDamageIsNeverBelieved flips every bit-carrying byte: the reader yields a prefix, or refuses the header.
func TestDamageIsNeverBelieved(t *testing.T) {
	events := small()
	file := record(t, events, len(events)/2+1)
	for i := range places(len(file)) {
		bad := bytes.Clone(file)
		bad[i] ^= 1 << (i % 8)
		r, err := Open(bytes.NewReader(bad))
		if err != nil {
			if !errors.Is(err, ErrNotRecording) && !errors.Is(err, ErrVersion) {
				t.Fatalf("byte %d: %v", i, err)
			}
			continue
		}
		got := readAll(t, r)
		if last := got[len(got)-1].(*event.Finish); last.Reason == ReasonCut {
			got = got[:len(got)-1]
		}
		compare(t, got, events[:len(got)])
	}
}

func TestZeroFilledTail(t *testing.T) {
	// Some file systems leave such a file after a power failure.
	events := small()
	file := record(t, events, 4)
	for n := len(schemaOnly(t)); n < len(file)-8; n += 37 {
		bad := append(bytes.Clone(file[:n]), make([]byte, len(file)-n)...)
		got := readAll(t, mustOpen(t, bad))
		last := got[len(got)-1].(*event.Finish)
		if last.Reason == ReasonCut && len(last.Problems) != 1 {
			t.Fatalf("problems %q", last.Problems)
		}
		if last.Reason == ReasonCut {
			got = got[:len(got)-1]
		}
		compare(t, got, events[:len(got)])
	}
}

func TestCutSaysHowFar(t *testing.T) {
	events := []event.Event{
		&event.Start{Host: event.Host{MonoNow: 5_000_000_000}},
		&event.Boundary{Time: 6_000_000_000, Stream: 7},
		&event.Change{Time: 7_500_000_000, Stream: 9},
	}
	file := record(t, events, 0)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"no end mark": {
			file[:len(file)-8],
			"the recording was cut off: it holds 3 events; the last is 2.5s after the first, at 7500000000 ns",
		},
		"no finish": {
			file, "the tracer closed the recording without finishing: it holds 3 events; " +
				"the last is 2.5s after the first, at 7500000000 ns",
		},
		"rubbish": {append(bytes.Clone(file[:len(file)-8]), "and so on and so on"...),
			fmt.Sprintf("the recording is not readable behind byte %d (damaged: no message begins here): "+
				"it holds 3 events; the last is 2.5s after the first, at 7500000000 ns", len(file)-8)},
		"nothing": {schemaOnly(t), "the recording was cut off: it holds no events"},
	} {
		all := readAll(t, mustOpen(t, c.file))
		got := all[len(all)-1]
		want := &event.Finish{Time: 7_500_000_000, Reason: ReasonCut, Made: 9, Delivered: 1, Problems: []string{c.want}}
		if name == "nothing" {
			want.Time, want.Made, want.Delivered = 0, 0, 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
}

func TestNotARecording(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want string
	}{
		"empty":     {"", "the file is empty"},
		"text":      {"hello, this is no recording at all\n", "the header is not one of ours"},
		"zeros":     {strings.Repeat("\x00", 4096), "the header is not one of ours"},
		"arrow EOS": {string(endMark[:]), "the header is not one of ours"},
		"half":      {string(schemaOnly(t)[:100]), "the file ends within its header"},
	} {
		_, err := Open(strings.NewReader(c.file))
		if !errors.Is(err, ErrNotRecording) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestNewerFormat(t *testing.T) {
	head := schemaOnly(t)
	key := bytes.Index(head, []byte(keyFormat))
	// the string, with its length
	value := bytes.Index(head[key:], []byte("\x01\x00\x00\x00"+strconv.Itoa(Format)+"\x00"))
	if key < 0 || value < 0 {
		t.Fatal("where is the format?")
	}
	head[key+value+4] = '9'
	if _, err := open(bytes.NewReader(head), true); !errors.Is(err, ErrVersion) ||
		!strings.Contains(err.Error(), `format 9 by version "1.2.3"`) {
		t.Errorf("%v, want ErrVersion", err)
	}
}

func TestLengthsThatLieCostNothing(t *testing.T) {
	lie := binary.LittleEndian.AppendUint32(bytes.Clone(continuation[:]), maxReadMeta)
	file := append(bytes.Clone(schemaOnly(t)), lie...)
	n := testing.AllocsPerRun(10, func() { readAll(t, mustOpen(t, file)) })
	size := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			readAll(b, mustOpen(b, file))
		}
	}).AllocedBytesPerOp()
	t.Logf("%v allocations, %d bytes", n, size)
	if size > 400<<10 {
		t.Errorf("a lie of %d bytes costs %d", maxReadMeta, size)
	}
}

func TestReaderErrorsAreReturned(t *testing.T) {
	file := record(t, small(), 4)
	bad := errors.New("input/output error")
	r, err := Open(io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(bad)))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Next(context.Background())
	}
	if !errors.Is(err, bad) {
		t.Errorf("%v, want %v", err, bad)
	}
	if _, again := r.Next(context.Background()); !errors.Is(again, bad) {
		t.Errorf("then %v", again)
	}
	if _, err := Open(iotest.ErrReader(bad)); !errors.Is(err, bad) || errors.Is(err, ErrNotRecording) {
		t.Errorf("open: %v", err)
	}
}

func TestSlowReaderAndContext(t *testing.T) {
	events := small()
	r, err := Open(iotest.OneByteReader(bytes.NewReader(record(t, events, 4))))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if r.schema.version != "1.2.3" {
		t.Errorf("version %q", r.schema.version)
	}
	compare(t, readAll(t, r), events)
}

// batchesOf returns the messages of a recording: its header, its batches and its end mark.
func batchesOf(t testing.TB, file []byte) (all [][]byte) {
	t.Helper()
	in := messageReader{r: bytes.NewReader(file)}
	for {
		from := in.offset
		_, err := in.next()
		if err != nil {
			return append(all, file[from:])
		}
		all = append(all, file[from:in.offset])
	}
}

// TestOutOfPlace: batches that are missing, doubled or in another order are damage, and what stands before them is
// read. Recordings of earlier tracers, whose batches have no numbers, show it where they begin or end twice.
func TestOutOfPlace(t *testing.T) {
	events := small()
	all := batchesOf(t, record(t, events, 4))
	n := len(all) // with the header and the end mark
	if n < 8 {
		t.Fatalf("%d messages", n)
	}
	for name, order := range map[string][]int{
		"swapped": {0, 1, 3, 2}, "doubled": {0, 1, 2, 2, 3}, "missing": {0, 1, 3}, "from behind": {0, n - 2},
		"last first": {0, 1, n - 2, 2},
	} {
		var file []byte
		for _, i := range order {
			file = append(file, all[i]...)
		}
		r := mustOpen(t, append(file, all[n-1]...))
		got := readAll(t, r)
		last := got[len(got)-1].(*event.Finish)
		x := r.Extent()
		if last.Reason != ReasonCut || x.State != Damaged || x.IsWhole() || len(last.Problems) != 1 ||
			last.Problems[0] != x.String() || !strings.Contains(x.String(), "a message is not in its place") {
			t.Errorf("%s: %+v, %+v", name, last, x)
		}
		compare(t, got[:len(got)-1], events[:len(got)-1])
	}
}

// TestBeginsAndEndsOnce: a recording without numbers that begins again, or goes on behind its end, is damaged.
func TestBeginsAndEndsOnce(t *testing.T) {
	start, finish := &event.Start{}, &event.Finish{Reason: "interrupted"}
	for name, events := range map[string][]event.Event{
		"begins again": {start, &event.Lull{}, &event.Process{}, start, finish},
		"goes on":      {start, finish, &event.Process{}},
		"ends again":   {start, finish, finish},
	} {
		r := mustOpen(t, record(t, events, 0))
		got := readAll(t, r)
		if last := got[len(got)-1].(*event.Finish); last.Reason != ReasonCut || r.Extent().State != Damaged {
			t.Errorf("%s: %+v, %+v", name, last, r.Extent())
		}
	}
	r := mustOpen(t, record(t, []event.Event{start, finish}, 0))
	if got := readAll(t, r); len(got) != 2 || !r.Extent().IsWhole() || r.Extent().Version != "1.2.3" {
		t.Errorf("%d events, %+v", len(got), r.Extent())
	}
}

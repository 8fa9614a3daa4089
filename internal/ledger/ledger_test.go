package ledger

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"ipytracer/event"
	"ipytracer/internal/hostile"
)

// load loads the real object. Without root it skips the test; under TRACER_REQUIRE_BPF=1 it fails.
func load(t *testing.T, o Options) *Ledger {
	t.Helper()
	l, err := Load(o)
	if err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") != "1" &&
			(errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrNotSupported)) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// collected is a Sink that keeps everything.
type collected struct {
	boundaries []event.Boundary
	readings   []event.Reading
	changes    []event.Change
	frames     int
	refused    int
	watched    []uint32 // of boundaries: descriptors of memory.peak
}

func (c *collected) Change(e *event.Change) { c.changes = append(c.changes, *e) }
func (c *collected) Boundary(b *event.Boundary, extra BoundaryExtra) {
	c.boundaries, c.watched = append(c.boundaries, *b), append(c.watched, extra.Watched)
}
func (c *collected) Reading(r *event.Reading) { c.readings = append(c.readings, *r) }
func (c *collected) Foreign(*event.Foreign)   {}
func (c *collected) Refusal(*event.Refusal)   { c.refused++ }
func (c *collected) LibrariesChanged(int32)   {}
func (c *collected) Code(*Code)               {}
func (c *collected) Stack(s *Stack)           { c.frames += len(s.Frames) }
func (c *collected) NativeStack(*NativeStack) {}
func (c *collected) StackCopy(*StackCopy)     {}
func (c *collected) Source(*SourceChunk)      {}

// piped starts a process that ends with the test. The error is that of starting it.
func piped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser, err error) {
	t.Helper()
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return in, out, nil
}

// sleeper returns the pid of a process to attach to. It has answered, so its exec is over.
func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("cat")
	in, out, err := piped(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func poll(t *testing.T, l *Ledger, c Sink) {
	t.Helper()
	for range 3 { // records written into the store while the ring was read come with the next poll
		if err := l.Stream.Poll(time.Unix(1, 0), c); err != nil {
			t.Fatal(err)
		}
	}
}

// consecutive checks that no boundary is missing and that each segment follows the one before.
func consecutive(t *testing.T, boundaries []event.Boundary, want int) {
	t.Helper()
	if len(boundaries) != want {
		t.Fatalf("%d boundaries, want %d", len(boundaries), want)
	}
	for i, b := range boundaries {
		if b.Number != uint64(i+1) || b.Segment != uint64(i+1) {
			t.Fatalf("boundary %d has number %d and segment %d", i+1, b.Number, b.Segment)
		}
		for m := range event.MeterCount {
			if b.High[m] < b.Value[m] {
				t.Fatalf("boundary %d: %v: maximum %d is less than the value %d", i+1, event.Meter(m), b.High[m],
					b.Value[m])
			}
		}
	}
}

// TestBoundariesOutliveTheirRing: a ring of one page holds few records; all others come from the store.
func TestBoundariesOutliveTheirRing(t *testing.T) {
	l := load(t, Options{BoundaryRing: 4096})
	pid := sleeper(t)
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	const more = 500
	for range more {
		if err := l.Processes.Detach(pid); err != nil {
			t.Fatal(err)
		}
	}
	var c collected
	poll(t, l, &c)
	consecutive(t, c.boundaries, more+1)
	if l.Stream.recovered == 0 {
		t.Error("the ring was not full: nothing was tested")
	}
}

// TestFullStoreDoesNotCut: when nothing reads the records, further boundaries are refused and counted instead of being
// lost.
func TestFullStoreDoesNotCut(t *testing.T) {
	l := load(t, Options{})
	pid := sleeper(t)
	if _, err := l.Processes.AttachProcess(0, pid, 0); err != nil {
		t.Fatal(err)
	}
	const attempts = maxStored + 500
	for range attempts {
		if err := l.Processes.Detach(pid); err != nil {
			t.Fatal(err)
		}
	}
	var c collected
	poll(t, l, &c)
	refused := uint64(0)
	for _, loss := range l.Losses() {
		if loss.Reason == LostBoundaries {
			refused = loss.Count
		}
	}
	if refused == 0 || len(c.boundaries)+int(refused) != attempts+1 {
		t.Fatalf("%d boundaries and %d refused of %d", len(c.boundaries), refused, attempts+1)
	}
	consecutive(t, c.boundaries, len(c.boundaries))
	// Once the records were read there is room again.
	if err := l.Processes.Detach(pid); err != nil {
		t.Fatal(err)
	}
	before := len(c.boundaries)
	poll(t, l, &c)
	consecutive(t, c.boundaries, before+1)
}

func TestProcessesThatAreNotThere(t *testing.T) {
	l := load(t, Options{})
	if _, err := l.Processes.AttachProcess(0, 1<<22, 0); !errors.Is(err, ErrNoProcess) {
		t.Errorf("attach: %v", err)
	}
	if err := l.Processes.Detach(os.Getpid()); !errors.Is(err, ErrNoProcess) {
		t.Errorf("detach what was never attached: %v", err)
	}
}

// TestRootsAreApart: two roots have their own segments, trees and boundaries.
func TestRootsAreApart(t *testing.T) { rootsAreApart(t, Options{}) }

func rootsAreApart(t *testing.T, o Options) {
	l := load(t, o)
	one, two := sleeper(t), sleeper(t)
	for root, pid := range []int{one, two} {
		if _, err := l.Processes.AttachProcess(uint32(root), pid, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Processes.Detach(two); err != nil {
		t.Fatal(err)
	}
	var c collected
	poll(t, l, &c)
	if len(c.boundaries) != 3 || c.boundaries[1].Root != 1 || c.boundaries[2].Root != 1 ||
		c.boundaries[2].Segment != 2 {
		t.Fatalf("boundaries: %+v", c.boundaries)
	}
	if b := c.boundaries[0]; b.Tree != b.Value {
		t.Errorf("a tree of one process: %v, the process: %v", b.Tree, b.Value)
	}
}

// TestCalibrate: the measured cost of a hit is the same each time, also beside other work: one busy thread for each
// processor, and two more.
func TestCalibrate(t *testing.T) {
	l := load(t, Options{})
	var stop atomic.Bool
	defer stop.Store(true)
	for range runtime.NumCPU() + 2 {
		go func() {
			for !stop.Load() {
			}
		}()
	}
	var emulated, stepped []time.Duration
	for range 6 {
		costs, err := l.Accounts.Calibrate()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("costs: %+v", costs)
		if costs.Emulated <= 0 || costs.Stepped <= costs.Emulated {
			t.Errorf("costs: %+v", costs)
		}
		emulated, stepped = append(emulated, costs.Emulated), append(stepped, costs.Stepped)
	}
	for _, found := range [][]time.Duration{emulated, stepped} {
		if slices.Max(found) > 2*slices.Min(found) {
			t.Errorf("the costs of a hit: %v", found)
		}
	}
}

func TestProbeInAFileThatIsNone(t *testing.T) {
	l := load(t, Options{})
	passwd, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	defer passwd.Close()
	nowhere := []Placement{{Program: CalibrateEntry, Offsets: []uint64{0}}}
	if _, err := l.Probes.Probe(passwd, os.Getpid(), nowhere); err == nil {
		t.Error("a probe in /etc/passwd")
	}
}

func TestDecodeText(t *testing.T) {
	for _, c := range []struct {
		raw  []byte
		kind uint32
		want string
	}{
		{[]byte("abc"), 1, "abc"},
		{[]byte{'h', 0xe9}, 1, "hé"},
		{[]byte{0x60, 0x4f, 'x', 0}, 2, "你x"},
		{[]byte{0x60, 0x4f, 'x'}, 2, "你"}, // cut within a character
		{[]byte{0x00, 0xf6, 0x01, 0x00}, 4, "😀"},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x00, 0xd8, 0, 0}, 4, "\ufffd\ufffd"}, // no characters at all
		{[]byte{1, 2, 3}, 0, "\x01\x02\x03"},
	} {
		if got := DecodeText(c.raw, c.kind); got != c.want {
			t.Errorf("%v kind %d: %q, want %q", c.raw, c.kind, got, c.want)
		}
	}
}

func TestWayOut(t *testing.T) {
	c := WayOut(0x1234, 5, 0x8c1, 0x40)
	if c&0xffff != 0x1234 || c>>16&0xff != 5 || c>>24&0xffff != 0x8c1 || c>>40 != 0x40 {
		t.Errorf("%#x", c)
	}
}

// FuzzRecords: whatever is in the rings, decoding neither panics nor makes a meter that does not exist.
func FuzzRecords(f *testing.F) {
	f.Add(make([]byte, unsafe.Sizeof(kernelBoundary{})))
	f.Add(make([]byte, unsafe.Sizeof(kernelChange{})))
	f.Add(make([]byte, unsafe.Sizeof(kernelSource{})))
	code, stack := make([]byte, unsafe.Sizeof(kernelCode{})), make([]byte, unsafe.Sizeof(kernelStack{})/2)
	code[unsafe.Offsetof(kernelHeader{}.Kind)] = uint8(kernelBoundaryKindRECORD_CODE)
	stack[unsafe.Offsetof(kernelHeader{}.Kind)] = uint8(kernelBoundaryKindRECORD_STACK)
	stack[unsafe.Offsetof(kernelStack{}.Count)] = 3
	f.Add(code)
	f.Add(stack)
	f.Add([]byte{1, 2, 3})
	hostile.Fuzz(f, 64<<20, func(t *testing.T, raw []byte) {
		if c, ok := view[kernelChange](raw); ok {
			if out := decodeChange(c); out.Meter >= event.MeterCount {
				t.Errorf("meter %d", out.Meter)
			}
		}
		if b, ok := view[kernelBoundary](raw); ok {
			b.Ticket = 0 // a ring record without one is a source or a nudge
			out, extra := decodeBoundary(b)
			said := ""
			if text := out.Text(); text != nil {
				said = *text
			}
			if len(said) > 4*len(b.Text) || len(extra.LineTable) > len(b.Text) {
				t.Errorf("text of %d bytes", len(said))
			}
		}
		l := &Ledger{Stream: Stream{copied: func() error { return nil }}}
		var c collected
		if h, ok := viewPrefix[kernelHeader](raw); ok && h.Ticket == 0 {
			if err := l.Stream.deliver(raw, &c); err != nil {
				t.Error(err)
			}
		}
	})
}

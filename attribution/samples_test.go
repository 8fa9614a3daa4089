package attribution

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// sampler makes NumPy's blocks as the kernel half streams them while the stacks of small ones are paused: blocks
// below [event.SampleOf] are streamed with a probability of their size divided by SampleOf. Of the others only the
// values are streamed from which the meter falls, where these are the highest of their segment so far.
type sampler struct {
	*script
	random            *rand.Rand
	value, high, sent event.Bytes
	next              uint64
	live              []sampled
	forgets           func() bool // a mutant: a value from which the meter fell is not streamed
	untold            bool        // some block was not streamed
}

type sampled struct {
	address, stack uint64
	size           event.Bytes
	told, sample   bool
}

func newSampler(seed uint64) *sampler {
	s := &sampler{script: newScript(), random: rand.New(rand.NewPCG(seed, seed)), next: 0x10000}
	for n := range uint64(6) {
		s.events = append(s.events, &event.Stack{Number: n + 1, PID: main,
			Frames: []event.Frame{{Function: "f", File: "lib.py", Line: int32(n + 1)}}})
	}
	return s
}

func (s *sampler) tell(c event.Change) {
	s.stream++
	c.Stream, c.Segment, c.PID, c.Meter, c.Unchained = s.stream, s.number+1, main, event.NumPy, s.untold
	s.held = append(s.held, &c)
}

func (s *sampler) take(stack uint64, size event.Bytes) {
	s.next += 0x10000
	b := sampled{address: s.next, stack: stack, size: size, told: true}
	if size < event.SampleOf {
		b.sample = s.random.Int64N(event.SampleOf) < int64(size)
		b.told = b.sample
	}
	s.live = append(s.live, b)
	s.value += size
	s.high = max(s.high, s.value)
	if b.told {
		s.tell(event.Change{Value: s.value, Size: size, Address: b.address, Stack: stack, Sample: b.sample})
	} else {
		s.untold = true
	}
}

func (s *sampler) give(i int) {
	b := s.live[i]
	s.live[i] = s.live[len(s.live)-1]
	s.live = s.live[:len(s.live)-1]
	from := s.value
	s.value -= b.size
	switch {
	case b.told:
		s.tell(event.Change{Value: s.value, Size: -b.size, Address: b.address, Sample: b.sample})
	case from > s.sent && (s.forgets == nil || !s.forgets()):
		s.sent = from
		s.tell(event.Change{Value: from})
	}
}

// shed steps the stacks of small blocks down, or puts them back.
func (s *sampler) shed(kind event.BoundaryKind) {
	s.cut(kind, 0, "", func(b *event.Boundary) { b.Group = event.SmallStacks })
}

func (s *sampler) cut(kind event.BoundaryKind, cell uint64, text string, more ...func(*event.Boundary)) {
	s.boundary(kind, main, append(more, func(b *event.Boundary) {
		b.Value[event.NumPy], b.High[event.NumPy] = s.value, s.high
		b.Tree[event.NumPy], b.TreeHigh[event.NumPy] = s.value, s.high
		b.Cell, b.Inputs, b.Outcome, b.File = cell, -1, event.OutcomeOK, text
	})...)
	s.high, s.sent = s.value, 0
}

// cell runs a cell that allocates and frees blocks at random, in some steps, of up to a largest size.
func (s *sampler) cell(cell uint64, steps int, largest int64) {
	s.cut(event.CellOpen, cell, fmt.Sprintf("cell-%d.py", cell))
	for range steps {
		if n := len(s.live); n > 0 && s.random.IntN(5) < 2 {
			s.give(s.random.IntN(n))
		} else {
			s.take(1+s.random.Uint64N(4), event.Bytes(1024+s.random.Int64N(largest)))
		}
	}
	s.cut(event.CellClose, cell, "")
}

func (s *sampler) byLine() (lines [7]event.Bytes) {
	for _, b := range s.live {
		lines[b.stack] += b.size
	}
	return lines
}

func proofOf(t *testing.T, r *model.Report, meter string) model.Proof {
	t.Helper()
	for _, m := range r.Certificate.Meters {
		if m.ID == meter {
			return m
		}
	}
	t.Fatal("no proof of " + meter)
	return model.Proof{}
}

// TestSamples checks that while small blocks are streamed as samples, figures are exact and proven, allocations by
// stack are estimates without a bias that are marked as such, and those of large blocks alone are exact to the byte.
func TestSamples(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(20) {
		s := newSampler(seed)
		s.shed(event.MeterShed)
		s.cell(1, 6000, 30<<10)
		small := s.byLine()
		s.cell(2, 2000, 300<<10)
		s.live = nil // from here on large blocks alone move
		s.shed(event.MeterBack)
		s.cut(event.CellOpen, 3, "cell-3.py")
		s.take(6, 1<<20)
		s.take(5, 1<<21)
		s.give(1)
		s.cut(event.CellClose, 3, "")
		report := s.run(t)
		if p := proofOf(t, report, "cpu.numpy"); p.Compared == 0 || p.Agreed != p.Compared || p.Difference != 0 {
			t.Fatalf("seed %d: proof %+v", seed, p)
		}
		if !report.Certificate.Complete {
			t.Fatalf("seed %d: not complete: %v", seed, report.Certificate.Incomplete)
		}
		for n := range 3 {
			if f := nth(t, report, "cell", n).Meters["cpu.numpy"]; !f.Exact {
				t.Errorf("seed %d: cell %d: %+v", seed, n+1, f)
			}
		}
		first, third := nth(t, report, "cell", 0), nth(t, report, "cell", 2)
		if c := first.Coverage["cpu.numpy"]; c.Exact || c.Sampled == 0 || c.Sampled != c.AtPeak {
			t.Errorf("seed %d: coverage %+v", seed, c)
		}
		for _, a := range first.Allocations {
			of := small[a.Stack[0].Line]
			if off := math.Abs(float64(a.Net - int64(of))); !a.Sampled ||
				off > 6*math.Sqrt(event.SampleOf*float64(of)) {
				t.Errorf("seed %d: line %d: %+v, it has %d", seed, a.Stack[0].Line, a, of)
			}
		}
		if c := third.Coverage["cpu.numpy"]; !c.Exact || c.Sampled == 0 {
			t.Errorf("seed %d: the third cell adds up, and has what was sampled before: %+v", seed, c)
		}
		for _, a := range third.Allocations {
			if a.Allocated > 0 && (a.Sampled || a.Allocated != 1<<20 && a.Allocated != 1<<21) {
				t.Errorf("seed %d: the third cell: %+v", seed, a)
			}
		}
	}
}

// TestSamplesHaveNoBias checks that over many sessions the sum of the samples is the true sum, within six standard
// errors of it.
func TestSamplesHaveNoBias(t *testing.T) {
	t.Parallel()
	var told, made, variance, times, blocks float64
	for seed := range attributiontest.Seeds(60) {
		s := newSampler(1000 + seed)
		s.shed(event.MeterShed)
		s.cut(event.CellOpen, 1, "cell-1.py")
		for range 1500 {
			size := event.Bytes(1024 << s.random.IntN(5))
			s.take(1+s.random.Uint64N(4), size)
			made += float64(size)
			variance += float64(size) * float64(event.SampleOf-size)
			blocks++
		}
		s.cut(event.CellClose, 1, "")
		for _, a := range nth(t, s.run(t), "cell", 0).Allocations {
			told += float64(a.Allocated)
			times += float64(a.Count)
		}
	}
	if off := math.Abs(told - made); off > 6*math.Sqrt(variance) {
		t.Errorf("%.0f bytes of %.0f, the standard error is %.0f", told, made, math.Sqrt(variance))
	}
	// A block of n bytes counts SampleOf / n times: its variance is at most that of the smallest.
	if off := math.Abs(times - blocks); off > 6*math.Sqrt(blocks*event.SampleOf/1024) {
		t.Errorf("%.0f blocks of %.0f", times, blocks)
	}
}

// TestSamplesAreProven checks that where a value from which the meter fell is not streamed, and was a cell's peak, the
// proof fails.
func TestSamplesAreProven(t *testing.T) {
	s := newSampler(7)
	s.forgets = func() bool { return true }
	s.shed(event.MeterShed)
	s.cut(event.CellOpen, 1, "cell-1.py")
	s.untold = true
	s.live = append(s.live, sampled{address: 0x10, size: 5000})
	s.value, s.high = s.value+5000, s.value+5000
	s.give(0)
	s.cut(event.CellClose, 1, "")
	report := s.run(t)
	if p := proofOf(t, report, "cpu.numpy"); p.Agreed == p.Compared || p.Difference != 5000 {
		t.Errorf("proof %+v", p)
	}
}

// TestSampledPeak checks that the stacks at a peak are those with blocks as the meter was at its highest, even if
// blockModel that were not streamed made that peak.
func TestSampledPeak(t *testing.T) {
	s := newSampler(7)
	s.shed(event.MeterShed)
	s.cut(event.CellOpen, 1, "cell-1.py")
	s.take(1, 100<<10)
	s.untold = true
	for range 20 { // 200 KiB that are not streamed
		s.live = append(s.live, sampled{address: 0x10, size: 10 << 10})
		s.value += 10 << 10
		s.high = max(s.high, s.value)
	}
	for len(s.live) > 1 {
		s.give(len(s.live) - 1)
	}
	s.give(0)
	s.take(2, 250<<10)
	s.cut(event.CellClose, 1, "")
	report := s.run(t)
	for _, a := range nth(t, report, "cell", 0).Allocations {
		want := int64(100 << 10)
		if a.Stack[0].Line == 2 {
			want = 0
		}
		if a.AtPeak != want || a.Sampled {
			t.Errorf("%+v at the peak of 300 KiB", a)
		}
	}
	if p := proofOf(t, report, "cpu.numpy"); p.Agreed != p.Compared {
		t.Errorf("proof %+v", p)
	}
}

// TestSamplesAreOfAttribution checks that lines from samples are marked, also in a burst in which no stacks were
// paused. Figures stay exact.
func TestSamplesAreOfAttribution(t *testing.T) {
	for _, size := range []event.Bytes{5000, 100 << 10} { // one block is not streamed, or all are
		s := newSampler(7)
		s.cut(event.CellOpen, 1, "cell-1.py")
		for range 20 {
			s.take(1, size)
		}
		for len(s.live) > 0 {
			s.give(0)
		}
		s.cut(event.CellClose, 1, "")
		c := s.run(t).Certificate
		expect(t, fmt.Sprint(size), []any{c.Complete, c.Attribution.Complete}, []any{true, size >= event.SampleOf})
	}
}

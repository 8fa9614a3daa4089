package ledger

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/cilium/ebpf"

	"ipytracer/event"
)

// blocksProgram is a program that allocates, resizes and frees blocks, reports this, and reports the sum of their
// bytes.
type blocksProgram struct {
	t        *testing.T
	ledger   *Ledger
	pid      int
	meter    event.Meter
	in       io.Writer
	lines    *bufio.Scanner
	seen     collected
	stream   uint64
	recorded map[uint64]event.Change // live blocks with a record, by their addresses
	value    event.Bytes             // at the last boundary
}

// truth is the program's own count of its blocks, in bytes.
type truth struct{ live, most, small, made int64 }

func newBlocksProgram(t *testing.T, threads int, meter event.Meter) *blocksProgram {
	l := load(t, Options{})
	p := &blocksProgram{t: t, ledger: l, meter: meter, recorded: map[uint64]event.Change{}}
	args := []string{fmt.Sprint(threads)}
	switch meter {
	case event.Torch:
		args = append(args, "tensors")
	case event.Arrow:
		args = append(args, "pools")
	}
	p.in, p.lines = attachedProgram(t, l, "blocks", args...)
	poll(t, l, &p.seen)
	p.pid = int(p.seen.boundaries[0].PID)
	file, err := os.Open(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const rdi, rsi = 7, 6 // as the processor numbers registers
	at := functionsOf(t, file)
	placements := []Placement{
		{NumPyMade, []uint64{at["made"]}, []uint64{ArrayPlace(rdi, rsi, Nowhere)}},
		{NumPyFreed, []uint64{at["freed"]}, []uint64{ArrayPlace(rdi, Nowhere, Nowhere)}},
		{NumPyResizing, []uint64{at["resizing"]}, []uint64{ArrayPlace(rdi, rsi, Nowhere)}},
		{NumPyResized, []uint64{at["resized"]}, []uint64{ArrayPlace(rdi, Nowhere, Nowhere)}},
	}
	if meter == event.Torch {
		placements = []Placement{{Program: TensorMade, Offsets: []uint64{at["tensor_new"]}},
			{Program: TensorFreed, Offsets: []uint64{at["tensor_delete"]}}}
	}
	if meter == event.Arrow {
		placements = poolPlacements(at)
	}
	probes, err := l.Probes.Probe(file, p.pid, placements)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = probes.Close() })
	if by, foreign, err := l.Blocks.CountArrays(p.pid, ArraysInside); err != nil || by != ArraysInside {
		t.Fatal(by, foreign, err)
	}
	return p
}

// poolPlacements returns the places, in a file, of the functions of Arrow's pools.
func poolPlacements(at map[string]uint64) []Placement {
	return []Placement{
		{PoolFreeing, []uint64{at["pool_free"]}, nil},
		{PoolReturning, []uint64{at["pool_allocate_ends"], at["pool_reallocate_ends"]}, []uint64{0, 0}},
		{PoolAllocating, []uint64{at["pool_allocate"]}, []uint64{PoolCall(0)}},
		{PoolReallocating, []uint64{at["pool_reallocate"]}, []uint64{PoolCall(0)}},
	}
}

// functionsOf returns the offsets of a program's functions in its file.
func functionsOf(t *testing.T, file *os.File) map[string]uint64 {
	t.Helper()
	f, err := elf.NewFile(file)
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range symbols {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				at[s.Name] = s.Value - p.Vaddr + p.Off
			}
		}
	}
	return at
}

// down steps the given groups of the root down, as the budget would, and all others up.
func (p *blocksProgram) down(groups ...Group) {
	p.t.Helper()
	var r kernelRoot
	if err := p.ledger.objects.Roots.Lookup(uint32(0), &r); err != nil {
		p.t.Fatal(err)
	}
	r.Down = 0
	for _, g := range groups {
		r.Down |= 1 << g
	}
	if err := p.ledger.objects.Roots.Update(uint32(0), r, ebpf.UpdateExist); err != nil {
		p.t.Fatal(err)
	}
}

// round makes the program do a number of steps in each thread. Then it draws a boundary, which is the only one of the
// round.
func (p *blocksProgram) round(steps int) (truth, event.Boundary) {
	p.t.Helper()
	is := p.run(steps)
	if n := len(p.seen.boundaries); n != 1 {
		p.t.Fatalf("%d boundaries", n)
	}
	return is, p.seen.boundaries[0]
}

// run makes the program do a number of steps in each thread, draws a boundary, and then reads the state.
func (p *blocksProgram) run(steps int) truth {
	p.t.Helper()
	fmt.Fprintln(p.in, steps)
	var is truth
	if !p.lines.Scan() {
		p.t.Fatal("the program has ended")
	}
	if _, err := fmt.Sscan(p.lines.Text(), &is.live, &is.most, &is.small, &is.made); err != nil {
		p.t.Fatalf("the program said %q", p.lines.Text())
	}
	if err := p.ledger.Blocks.Settled(p.pid, 0); err != nil {
		p.t.Fatal(err)
	}
	p.seen = collected{}
	poll(p.t, p.ledger, &p.seen)
	return is
}

// prove checks that no record is missing, and that the records lead to the kernel's maximum. It returns the number of
// changes of arrays.
func (p *blocksProgram) prove(b *event.Boundary) (n int) {
	p.t.Helper()
	numbers, highest := map[uint64]bool{}, p.value
	for i := range p.seen.changes {
		c := &p.seen.changes[i]
		if numbers[c.Stream] || c.Stream <= p.stream || c.Stream > b.Stream {
			p.t.Fatalf("change %+v behind number %d", c, p.stream)
		}
		numbers[c.Stream] = true
		if c.Meter != p.meter {
			continue
		}
		n++
		highest = max(highest, c.Highest())
		if c.Size == 0 {
			continue
		}
		one := *c
		if one.Size += p.recorded[c.Address].Size; one.Size == 0 {
			delete(p.recorded, c.Address)
		} else {
			p.recorded[c.Address] = one
		}
	}
	if sent := len(numbers) + p.seen.refused; uint64(sent) != b.Stream-p.stream {
		p.t.Fatalf("%d changes, the boundary says %d", sent, b.Stream-p.stream)
	}
	p.stream, p.value = b.Stream, b.Value[p.meter]
	if highest = max(highest, p.value); highest != b.High[p.meter] {
		p.t.Errorf("the records lead up to %d, the kernel's maximum is %d", highest, b.High[p.meter])
	}
	return n
}

// sums returns the bytes of the live blocks with a record: large ones, small ones, and the bytes that samples stand
// for.
func (p *blocksProgram) sums() (large, small, samples int64) {
	for _, c := range p.recorded {
		switch {
		case c.Sample:
			samples += event.SampleOf
		case c.Size >= event.SampleOf:
			large += int64(c.Size)
		default:
			small += int64(c.Size)
		}
	}
	return large, small, samples
}

// crowd puts a block into every second place, so that half of the program's blocks find none.
func (p *blocksProgram) crowd() {
	p.t.Helper()
	var is kernelProcess
	if err := p.ledger.objects.Processes.Lookup(uint32(0), &is); err != nil {
		p.t.Fatal(err)
	}
	at := kernelPlace{Key: 1<<kernelPlaceKeyADDRESS_BITS - 1, Block: kernelBlock{Size: 1, Era: is.Era}}
	for i := uint32(0); i < 1<<kernelPlaceKeyPLACE_BITS; i += 2 {
		if err := p.ledger.objects.Places.Update(i, at, ebpf.UpdateAny); err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestSmallBlocks: whichever blocks have records, the meter and its maximum are exact, and the records prove it. All
// large blocks have records. Of the small ones either all have, or an unbiased sample, or none. Where an allocation has
// a record, its free has one, too. The same holds where half of the blocks find no place.
func TestSmallBlocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		threads int
		meter   event.Meter
		crowded bool
	}{{"1", 1, event.NumPy, false}, {"4", 4, event.NumPy, true}, {"tensors", 4, event.Torch, true},
		{"pool", 1, event.Arrow, false}, {"pools", 4, event.Arrow, true}} {
		t.Run(c.name, func(t *testing.T) {
			p := newBlocksProgram(t, c.threads, c.meter)
			if c.crowded {
				p.crowd()
			}
			const steps = 3000
			recorded := 0
			for round, w := range smallBlocksRounds {
				p.down(w...)
				is, b := p.round(steps)
				if got := int64(b.Value[p.meter]); got != is.live {
					t.Fatalf("round %d: the meter says %d bytes, the program has %d", round, got, is.live)
				}
				if high := int64(b.High[p.meter]); c.threads == 1 && high != is.most {
					t.Errorf("round %d: the meter's maximum is %d bytes, the program had %d", round, high, is.most)
				}
				n := p.prove(&b)
				large, small, samples := p.sums()
				if large != is.live-is.small {
					t.Errorf("round %d: large blocks of %d bytes were recorded, there are %d", round, large,
						is.live-is.small)
				}
				switch round {
				case 0:
					if recorded = n; small != is.small || samples != 0 {
						t.Errorf("all were to be recorded: %d of %d bytes, samples of %d", small, is.small, samples)
					}
				case 2: // almost no block of round 0 is live
					if off, sigma := math.Abs(float64(small+samples-is.small)),
						math.Sqrt(event.SampleOf*float64(is.small)); off > 6*sigma || samples == 0 {
						t.Errorf("samples say %d bytes and %d were recorded, there are %d: off by %.1f standard errors",
							samples, small, is.small, off/sigma)
					}
					if n > 3*recorded/4 {
						t.Errorf("%d changes, and %d where all were recorded", n, recorded)
					}
				}
			}
			if losses := p.ledger.Losses(); len(losses) > 0 {
				t.Error(losses)
			}
			if p.spilt() == 0 && c.crowded {
				t.Error("each block has found a place")
			}
		})
	}
}

// smallBlocksRounds are the groups that are paused in each round.
var smallBlocksRounds = [][]Group{nil, {GroupSmallStacks}, {GroupSmallStacks}, {GroupSmallStacks, GroupFrames},
	{GroupSmallStacks}, nil}

// spilt returns the number of blocks that are both in the table and in the places.
func (p *blocksProgram) spilt() (n int) {
	p.t.Helper()
	table, counted := p.ledger.objects.Blocks, 0
	switch p.meter {
	case event.Torch:
		table = p.ledger.objects.TorchBlocks
	case event.Arrow:
		table = p.ledger.objects.ArrowBlocks
	}
	err := errors.Join(
		eachOf(table, func(uint64, *kernelBlock) { n++ }),
		eachOf(p.ledger.objects.Places, func(_ uint32, at *kernelPlace) { counted += int(at.Block.Spilt) }),
	)
	if err != nil || counted != n {
		p.t.Errorf("%d blocks are in the table, the places say %d: %v", n, counted, err)
	}
	return n
}

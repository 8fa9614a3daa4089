package ledger

import (
	"io"
	"os"
	"runtime"
	"testing"
	"time"
)

// One of as many trials must be right, each with a small account: other work disturbs some.
const (
	spendingTrials = 8
	spendingShare  = 0.03
	spendingFull   = 20 * time.Millisecond
	workedRuns     = 2000 // of the program, to find out how much it does on this machine
	longestSpend   = time.Minute
)

// TestSpending: until the kernel half steps a group down, its hits have taken as much processor time as the account
// held and gained: the price of a hit, also of one that is single-stepped and twenty times as dear, is what it costs.
func TestSpending(t *testing.T) {
	for name, c := range map[string]struct {
		fn       func()
		address  uint64
		emulated bool
	}{"emulated": {emulated, emulatedAddress, true}, "single-stepped": {stepped, steppedAddress, false}} {
		t.Run(name, func(t *testing.T) {
			for range spendingTrials {
				part := spend(t, c.fn, c.address, c.emulated)
				t.Logf("the hits took %.2f times as much as the account says", part)
				if part > 0.8 && part < 1.25 {
					return
				}
			}
			t.Errorf("the price is wrong")
		})
	}
}

// spend returns the processor time of the hits until their group is paused, divided by what they may take.
func spend(t *testing.T, fn func(), address uint64, isEmulated bool) float64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	work := workOf(t, fn, address, isEmulated)
	l := load(t, Options{Small: true})
	costs, err := l.Accounts.Calibrate()
	if err != nil {
		t.Fatal(err)
	}
	price := Costs{Emulated: costs.Emulated + work, Stepped: costs.Stepped + work}
	if err := l.Accounts.SetBudget(spendingShare, spendingFull); err != nil {
		t.Fatal(err)
	}
	if err := l.Accounts.SetPrice(GroupTorchCPU, price, 1); err != nil {
		t.Fatal(err)
	}
	defer probed(t, l, address, isEmulated).Close()
	bench := ownBench{bare: unprobed, atEmulated: fn}
	const calls = 200
	var took time.Duration
	began := time.Now()
	for r, err := l.Accounts.root(0); r.Down>>GroupTorchCPU&1 == 0; r, err = l.Accounts.root(0) {
		if err != nil || time.Since(began) > longestSpend {
			t.Fatalf("%v: %v of hits, and the account has %v", err, took, time.Duration(r.Credit))
		}
		with, err := bench.run(atEmulated, calls)
		without, errToo := bench.run(bare, calls)
		if err != nil || errToo != nil {
			t.Fatal(err, errToo)
		}
		took += with.cpu - without.cpu
	}
	gained := time.Duration(spendingShare * float64(time.Since(began)))
	return float64(took) / float64(spendingFull+gained)
}

// probed places a program on a function of this very program, and attaches to that.
func probed(t *testing.T, l *Ledger, address uint64, isEmulated bool) io.Closer {
	t.Helper()
	offset, err := ownOffset(address)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	probe, err := l.Probes.Probe(self, os.Getpid(), []Placement{{Program: TensorFreed, Offsets: []uint64{offset},
		Cookies: []uint64{At(isEmulated, 0)}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Processes.AttachProcess(0, os.Getpid(), 0); err != nil {
		t.Fatal(err)
	}
	return probe
}

// workOf returns the processor time of the program in one hit on a function, as the kernel counts it. A session has a
// table of usual cases instead (tracer/internal/budget/prices.go).
func workOf(t *testing.T, fn func(), address uint64, isEmulated bool) time.Duration {
	t.Helper()
	l := load(t, Options{Small: true})
	defer probed(t, l, address, isEmulated).Close()
	counting, err := l.Tracepoints.CountWork()
	if err != nil {
		t.Fatal(err)
	}
	defer counting.Close()
	before, err := l.Probes.objects.TensorFreed.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for range workedRuns {
		fn()
	}
	after, err := l.Probes.objects.TensorFreed.Stats()
	if err != nil || after.RunCount-before.RunCount < workedRuns {
		t.Fatalf("%d of %d runs: %v", after.RunCount-before.RunCount, workedRuns, err)
	}
	work := (after.Runtime - before.Runtime) / time.Duration(after.RunCount-before.RunCount)
	t.Logf("the program takes %v", work)
	return work
}

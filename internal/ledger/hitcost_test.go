package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	µs = time.Microsecond
	ms = time.Millisecond
)

// fakeBench is a machine with known costs. What disturbs it adds to its clocks.
type fakeBench struct {
	costs   [benchFunctions]time.Duration // of a call
	time    time.Duration
	tick    time.Duration // of the clock of processor time; 0: it has none
	used    time.Duration // processor time
	random  *rand.Rand
	speed   func(at time.Duration) float64                                       // of the processor; nil: 1
	disturb func(r *rand.Rand, at, took time.Duration) (wall, cpu time.Duration) // of one batch; nil: nothing
	batches int
}

func (f *fakeBench) run(function, calls int) (spell, error) {
	f.batches++
	took := time.Duration(calls)*f.costs[function] + 900*time.Nanosecond // two clocks are read
	took += time.Duration(f.random.IntN(int(took / 50)))                 // caches
	if f.speed != nil {
		took = time.Duration(float64(took) / f.speed(f.time))
	}
	one := spell{took, took}
	if f.disturb != nil {
		wall, cpu := f.disturb(f.random, f.time, took)
		one.wall, one.cpu = one.wall+wall, one.cpu+cpu
	}
	before := f.used
	f.time, f.used = f.time+one.wall, f.used+one.cpu
	if f.tick > 0 {
		one.cpu = f.used/f.tick*f.tick - before/f.tick*f.tick
	}
	return one, nil
}

func (f *fakeBench) rest(d time.Duration) { f.time += d }

func (f *fakeBench) now() time.Duration { return f.time }

// disturbances are what other work does to a batch of calls.
var disturbances = map[string]func(f *fakeBench){
	"nothing": func(*fakeBench) {},
	// The hypervisor runs others: both clocks go on.
	"steal": func(f *fakeBench) {
		f.disturb = func(r *rand.Rand, _, _ time.Duration) (wall, cpu time.Duration) {
			if r.IntN(4) > 0 {
				return 0, 0
			}
			stolen := time.Duration(r.IntN(int(300 * µs)))
			return stolen, stolen
		}
	},
	// The kernel runs other threads, and afterwards caches are cold.
	"other threads": func(f *fakeBench) {
		f.disturb = func(r *rand.Rand, _, took time.Duration) (wall, cpu time.Duration) {
			if r.IntN(3) > 0 {
				return 0, 0
			}
			return 3*ms + took/4, took / 4
		}
	},
	// The sibling of a core is busy for a while: every batch takes longer.
	"every batch is disturbed": func(f *fakeBench) {
		f.disturb = func(r *rand.Rand, _, _ time.Duration) (wall, cpu time.Duration) {
			stolen := time.Duration(r.IntN(int(3 * µs)))
			return stolen, stolen
		}
	},
	"a burst at the start": func(f *fakeBench) {
		f.speed = func(at time.Duration) float64 {
			if at < 12*ms {
				return 0.5
			}
			return 1
		}
	},
	"a burst in the middle": func(f *fakeBench) {
		f.speed = func(at time.Duration) float64 {
			if at > 9*ms && at < 25*ms {
				return 0.6
			}
			return 1
		}
	},
	"the frequency changes": func(f *fakeBench) {
		f.speed = func(at time.Duration) float64 {
			if at/(11*ms)%2 == 0 {
				return 0.7
			}
			return 1
		}
	},
}

// machines are emulated and single-stepped hits.
var machines = [][2]time.Duration{
	{340, 9000}, {500, 11 * µs}, {890, 11 * µs}, {5200, 11 * µs}, {5200, 40 * µs}, {12 * µs, 40 * µs},
}

// TestMeasureHits: whatever the costs of a machine are, and whatever happens there meanwhile, they are found within a
// tenth.
func TestMeasureHits(t *testing.T) {
	for name, disturb := range disturbances {
		for _, m := range machines {
			t.Run(fmt.Sprintf("%s/%v,%v", name, m[0], m[1]), func(t *testing.T) {
				for seed := range uint64(50) {
					f := newFakeBench(m, seed)
					disturb(f)
					got, err := measureHits(f)
					if err != nil || got.Noisy || !near(got.Emulated, m[0]) || !near(got.Stepped, m[1]) {
						t.Fatalf("seed %d: %+v after %v, %v", seed, got, f.time, err)
					}
					if got.AreDear() != (m[0] > 2500 || m[1] > 30*µs) {
						t.Fatalf("dear: %v", got.AreDear())
					}
				}
			})
		}
	}
}

func newFakeBench(m [2]time.Duration, seed uint64) *fakeBench {
	return &fakeBench{costs: [...]time.Duration{bare: 2, atEmulated: 2 + m[0], atStepped: 2 + m[1]},
		random: rand.New(rand.NewPCG(seed, 5))}
}

func near(got, want time.Duration) bool { return got >= want-want/10 && got <= want+want/10 }

// TestImplausibleHits: a cost that few machines have is measured more often, and not replaced.
func TestImplausibleHits(t *testing.T) {
	all := hitCost{plausible: mostEmulated}
	for range leastRounds - confirmingImplausible {
		all.add(figures{ways: [ways]time.Duration{5800, 5800, 5800}}, figures{}) // disturbed
	}
	for n := range confirmingImplausible {
		if all.isSettled() {
			t.Errorf("settled by %d rounds", n)
		}
		all.add(figures{ways: [ways]time.Duration{5200, 5210, 5190}}, figures{})
	}
	if cost, settled, err := all.cost(); cost != 5200 || !settled || err != nil {
		t.Errorf("%v, settled %v, %v", cost, settled, err)
	}
}

// TestHitsWithoutAgreement: where nothing agrees, the highest counts, it is said, and the search ends.
func TestHitsWithoutAgreement(t *testing.T) {
	for name, change := range map[string]func(f *fakeBench){
		"processor time by ticks": func(f *fakeBench) { f.tick = 4 * ms },
		"processor time that stands still": func(f *fakeBench) {
			f.disturb = func(_ *rand.Rand, _, took time.Duration) (wall, cpu time.Duration) { return 0, -took / 2 }
		},
	} {
		for seed := range uint64(50) {
			m := machines[seed%5]
			f := newFakeBench(m, seed)
			change(f)
			got, err := measureHits(f)
			if err != nil || !got.Noisy || got.Emulated < m[0]-m[0]/10 || got.Stepped < m[1]-m[1]/10 {
				t.Errorf("%s: %v is %+v, %v", name, m, got, err)
			}
			if f.time > time.Second {
				t.Errorf("%s: it took %v", name, f.time)
			}
		}
	}
	for seed := range uint64(50) { // so much that a price may be found or not, but none that is wrong
		m := machines[seed%5]
		f := newFakeBench(m, seed)
		f.disturb = func(r *rand.Rand, _, _ time.Duration) (wall, cpu time.Duration) {
			stolen := time.Duration(r.IntN(int(15 * µs)))
			return stolen, stolen
		}
		got, err := measureHits(f)
		low := got.Emulated < m[0]-m[0]/10 || got.Stepped < m[1]-m[1]/10
		if err != nil || low || !got.Noisy && !(near(got.Emulated, m[0]) && near(got.Stepped, m[1])) {
			t.Errorf("much: %v is %+v, %v", m, got, err)
		}
	}
	f := newFakeBench([2]time.Duration{0, 0}, 1) // the probe is never hit
	if got, err := measureHits(f); err == nil && !got.Noisy {
		t.Errorf("a probe that is never hit costs %+v", got)
	}
}

// TestLeastCosts: of two measurements the lower counts, and none that is noisy beside one that is not.
func TestLeastCosts(t *testing.T) {
	noisy, settled := Costs{Emulated: 600, Stepped: 9500, Noisy: true}, Costs{Emulated: 620, Stepped: 9000}
	for _, c := range []struct{ one, other, want Costs }{
		{noisy, settled, settled},
		{settled, Costs{Emulated: 640, Stepped: 8900}, Costs{Emulated: 620, Stepped: 8900}},
		{noisy, Costs{Emulated: 700, Stepped: 9000, Noisy: true}, Costs{Emulated: 600, Stepped: 9000, Noisy: true}},
	} {
		if got := c.one.Least(c.other); got != c.want {
			t.Errorf("%+v and %+v: %+v, want %+v", c.one, c.other, got, c.want)
		}
		if got := c.other.Least(c.one); got != c.want {
			t.Errorf("%+v and %+v: %+v, want %+v", c.other, c.one, got, c.want)
		}
	}
}

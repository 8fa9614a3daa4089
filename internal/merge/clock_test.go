package merge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ipytracer/model"
)

// trueClock is a clock that is ahead of the true time, and gains or loses with a rate that changes.
type trueClock struct {
	ahead int64
	rates []int64 // parts per million, of each stretch of time
}

const (
	stretch = int64(10e9)
	day     = int64(86400e9)
)

// at returns the clock's time at a true time from 0 on.
func (c *trueClock) at(now int64) int64 {
	shown := c.ahead + now
	for i, rate := range c.rates {
		begun := int64(i) * stretch
		if now <= begun {
			break
		}
		shown += min(now-begun, stretch) / 1e6 * rate
	}
	return shown
}

func drifting(random *rand.Rand, stretches int) *trueClock {
	c := &trueClock{ahead: random.Int64N(10*day) + day}
	for range stretches {
		c.rates = append(c.rates, random.Int64N(981)-490)
	}
	return c
}

// exchange sends messages both ways between two clocks, each of which takes some time.
func exchange(random *rand.Rand, all []*trueClock, clocks []*clock, a, b, count int, stretches int) {
	for i := range count {
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		sent := random.Int64N(int64(stretches) * stretch * 9 / 10)
		got := sent + 100_000 + random.Int64N(30e6)
		id := fmt.Sprintf("%d-%d-%d", from, to, i)
		if clocks[from].post.sent == nil {
			clocks[from].post.sent = map[string]int64{}
		}
		if clocks[to].post.got == nil {
			clocks[to].post.got = map[string]int64{}
		}
		clocks[from].post.sent[id], clocks[to].post.got[id] = all[from].at(sent), all[to].at(got)
	}
}

// TestPlacesHoldTheTruth: with any distance, any drift that clocks have, any delay of messages and any wall clocks, the
// true time lies within the bounds. Those are about as narrow as the delays and the drift between two messages.
func TestPlacesHoldTheTruth(t *testing.T) {
	narrow, compared, deep := 0, 0, 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		const stretches = 40
		var all []*trueClock
		var clocks []*clock
		for i := range 2 + random.IntN(4) {
			of := drifting(random, stretches)
			all = append(all, of)
			clocks = append(clocks, &clock{
				boot: fmt.Sprint(i), mono: of.at(1e9), now: 1e18 + 1e9 + random.Int64N(1e12), began: of.at(0),
			})
		}
		for i := 1; i < len(all); i++ {
			above := 0
			if seed%2 == 1 { // a chain
				above = i - 1
			}
			exchange(random, all, clocks, above, i, 2+random.IntN(100), stretches)
		}
		pairs, ambiguous := messages(clocks)
		if c := placeClocks(clocks, -1, pairs); len(c) > 0 || ambiguous > 0 {
			t.Fatalf("seed %d: %d contradictions", seed, len(c))
		}
		for i, c := range clocks[1:] {
			if c.by != model.ByMessages || c.messages == 0 {
				t.Fatalf("seed %d: clock %d is placed by %s", seed, i, c.by)
			}
			deep = max(deep, c.depth)
			for range 50 {
				now := random.Int64N(stretches * stretch)
				shown, truth := all[i+1].at(now), all[0].at(now)
				low, high := c.earliest(shown), c.latest(shown)
				if truth < low || truth > high {
					t.Fatalf("seed %d, clock %d: %d is not from %d to %d", seed, i+1, truth, low, high)
				}
				if compared++; high-low < 100e6 {
					narrow++
				}
			}
			low, high := c.earliest(c.began), c.latest(c.began)
			if about := c.began - c.ahead; about < low || about > high {
				t.Errorf("seed %d: the estimate is outside of the bounds", seed)
			}
		}
	}
	if narrow < compared/4 || deep < 3 {
		t.Errorf("%d of %d bounds are within 100 ms; the deepest clock is %d below the first", narrow, compared, deep)
	}
}

// TestClockError: wall clocks that are off by less than the error the user states hold the truth; without one nothing
// is bounded.
func TestClockError(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 4))
		a, b := drifting(random, 40), drifting(random, 40)
		off := random.Int64N(20e6) - 10e6
		clocks := []*clock{{mono: a.at(1e9), now: 1e18 + 1e9}, {mono: b.at(3e9), now: 1e18 + 3e9 + off, began: b.at(0)}}
		placeClocks(clocks, 11e6, nil)
		for range 50 {
			now := random.Int64N(40 * stretch)
			truth, shown := a.at(now), b.at(now)
			if low, high := clocks[1].earliest(shown), clocks[1].latest(shown); truth < low || truth > high {
				t.Fatalf("seed %d: %d is not from %d to %d", seed, truth, low, high)
			}
		}
		clocks[1].above = nil
		placeClocks(clocks, -1, nil)
		if clocks[1].bounded() || clocks[1].by != model.ByWallClock {
			t.Errorf("placed by %s", clocks[1].by)
		}
	}
}

// TestContradictions: a message that is received before it is sent, or a clock that runs much faster, is found, and
// bounds nothing.
func TestContradictions(t *testing.T) {
	second := int64(1e9)
	for name, all := range map[string][]message{
		"backwards": {{0, 1, 10 * second, 5 * second}, {1, 0, 6 * second, 10 * second}},
		"fast": {
			{0, 1, 10 * second, 10*second + 1}, {1, 0, 10*second + 1, 10*second + 2},
			{0, 1, 20 * second, 21 * second}, {1, 0, 21*second + 1, 20*second + 2},
		},
	} {
		clocks := []*clock{{}, {}}
		if got := placeClocks(clocks, -1, all); len(got) != 1 || clocks[1].bounded() {
			t.Errorf("%s: %d contradictions, placed by %s", name, len(got), clocks[1].by)
		}
	}
	clocks := []*clock{{}, {}}
	if got := placeClocks(clocks, -1, []message{{0, 1, 5, 9}}); len(got) != 0 || clocks[1].bounded() {
		t.Errorf("messages one way bound both sides: %d contradictions, placed by %s", len(got), clocks[1].by)
	}
}

package course

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestKeptValuesAgainstAllValues compares the kept values of a meter with a list of all its values, for windows that
// open and close at random.
func TestKeptValuesAgainstAllValues(t *testing.T) {
	for seed := range attributiontest.Seeds(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var values Steps
		var highs Peaks
		var allValues, allHighs []event.Bytes // by cut
		var open []uint64
		for cut := range uint64(400) {
			latest := uint64(0)
			if len(open) > 0 {
				latest = open[len(open)-1]
			}
			v := event.Bytes(random.IntN(50))
			h := v + event.Bytes(random.IntN(50))
			values.Set(cut+1, latest, v)
			highs.Push(cut+1, h)
			allValues, allHighs = append(allValues, v), append(allHighs, h)
			if random.IntN(3) == 0 {
				open = append(open, cut+1)
			}
			for _, since := range open {
				if got, want := values.At(since), allValues[since-1]; got != want {
					t.Fatalf("seed %d: value %d at %d, want %d", seed, got, since, want)
				}
				want := event.Bytes(0)
				for _, h := range allHighs[since:] {
					want = max(want, h)
				}
				if got, _ := highs.Since(since); got != want {
					t.Fatalf("seed %d: high %d since %d, want %d", seed, got, since, want)
				}
			}
			if len(open) > 0 && random.IntN(3) == 0 {
				i := random.IntN(len(open))
				open = slices.Delete(open, i, i+1)
			}
			if random.IntN(10) == 0 {
				values.thin(open)
				highs.Thin(open)
				if most := len(open) + 1; len(values) > most || len(highs) > most {
					t.Fatalf("seed %d: %d values and %d highs for %d windows", seed, len(values), len(highs), len(open))
				}
			}
		}
	}
}

package course

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestStreamGaps(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		const n = 200
		var s Stream
		came := make([]bool, n+1)
		order := rnd.Perm(n)
		for i := range order { // mostly in order, some pass each other
			order[i] = i + 1
		}
		for range 20 {
			i := rnd.IntN(n - 1)
			order[i], order[i+1] = order[i+1], order[i]
		}
		for _, k := range order {
			if rnd.IntN(12) > 0 {
				s.Received(uint64(k))
				came[k] = true
			}
		}
		for range 50 {
			a := rnd.IntN(n)
			b := a + rnd.IntN(n-a+1)
			want := !slices.Contains(came[a+1:b+1], false)
			if got := s.Complete(uint64(a), uint64(b)); got != want {
				t.Fatalf("seed %d (%d, %d]: complete %v, want %v", seed, a, b, got, want)
			}
		}
	}
}

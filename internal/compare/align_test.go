package compare

import (
	"math/rand/v2"
	"testing"
)

// valid checks that matches are in order, and match equal elements.
func valid(t *testing.T, a, b []uint64, all []match) {
	t.Helper()
	x, y := -1, -1
	for _, m := range all {
		if m.a <= x || m.b <= y || a[m.a] != b[m.b] {
			t.Fatalf("%v after %d, %d", m, x, y)
		}
		x, y = m.a, m.b
	}
}

func TestAlign(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(n, kinds int) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			out[i] = random.Uint64N(uint64(kinds))
		}
		return out
	}
	for range 300 {
		a, b := some(random.IntN(30), 6), some(random.IntN(30), 6)
		got, want := align(a, b), longestCommon(a, b, 0, 0, nil)
		valid(t, a, b, got)
		if len(got) != len(want) {
			t.Fatalf("%d of %v and %v, want %d", len(got), a, b, len(want))
		}
	}
	for _, kinds := range []int{1, 3, 100, 1 << 40} { // too long for the table
		a, b := some(9000, kinds), some(7000, kinds)
		valid(t, a, b, align(a, b))
		b = append(append([]uint64{1 << 50}, a[:4000]...), append([]uint64{1 << 51}, a[5000:]...)...)
		got := align(a, b)
		valid(t, a, b, got)
		if kinds == 1<<40 && len(got) != 8000 {
			t.Errorf("%d of 8000", len(got))
		}
	}
}

func TestSimilarity(t *testing.T) {
	for _, c := range []struct {
		a, b string
		more bool
	}{
		{"x = np.ones(10)", "x = np.ones(20)", true},
		{"x = np.ones(10)", "plt.show()", false},
		{"def f(a):\n    return a * 2", "def f(a, b):\n    return a * 2 + b", true},
		{"", "", false},
	} {
		if got := similarity(tokens(c.a), tokens(c.b)); (got >= leastSimilarity) != c.more {
			t.Errorf("%q, %q: %f", c.a, c.b, got)
		}
	}
}

package trial

import "testing"

// TestTimeit: the counts of loops that %timeit chooses by the time, and its warning, do not count as differences.
func TestTimeit(t *testing.T) {
	for _, pair := range [][2]string{
		{"2.1 ms ± 40 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
			"611 µs ± 4 µs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)"},
		{"1 loop, best of 3: 1.2 s per loop", "10 loops, best of 5: 140 ms per loop"},
		{"The slowest run took 4.29 times longer than the fastest. This could mean that an intermediate result is " +
			"being cached.\n3 µs ± 1 µs per loop (mean ± std. dev. of 7 runs, 1 loop each)",
			"5 µs ± 1 µs per loop (mean ± std. dev. of 7 runs, 10 loops each)"},
	} {
		if v := compareTexts(pair[0], pair[1], Tolerance{}); v.differs || v.what == "" {
			t.Errorf("%q, %q: %+v", pair[0], pair[1], v)
		}
	}
	if v := compareTexts("7 runs, 3 loops", "7 runs, 4 loops", Tolerance{}); !v.differs {
		t.Errorf("other texts about loops: %+v", v)
	}
}

package words

import (
	"math"
	"testing"
)

func TestBytes(t *testing.T) {
	const k = int64(1) << 10
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", k: "1.00 KiB", k + 5: "1.00 KiB", k + 6: "1.01 KiB", -k: "-1.00 KiB",
		-1: "-1 B", k*k - 1: "1.00 MiB", k*k - 6: "1023.99 KiB", k*k - 5: "1.00 MiB", k * k: "1.00 MiB",
		k*k*k - k: "1.00 GiB", k*k*k - 6*k: "1023.99 MiB", -(k*k*k - 1): "-1.00 GiB", 3 * k * k * k / 2: "1.50 GiB",
		k * k * k * k: "1.00 TiB", 5000 * k * k * k * k: "5000.00 TiB", k*k + k*k/200: "1.00 MiB",
		k*k + k*k/200 + 1: "1.01 MiB", 128 + 2*k: "2.13 KiB", -(128 + 2*k): "-2.13 KiB",
		math.MaxInt64: "8388608.00 TiB", math.MinInt64: "-8388608.00 TiB", math.MinInt64 + 1: "-8388608.00 TiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	const ms, s, min = int64(1e6), int64(1e9), int64(60e9)
	for n, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 1000: "1 µs", 12_499: "12 µs", 999_499: "999 µs", 999_500: "1.0 ms",
		1_849_999: "1.8 ms", 9_949_999: "9.9 ms", 9_950_000: "10 ms", 180 * ms: "180 ms", 999_499_999: "999 ms",
		999_500_000: "1.00 s", 2412 * ms: "2.41 s", 59_994 * ms: "59.99 s", 59_995 * ms: "1 min 00 s",
		185 * s: "3 min 05 s", 3599*s + 499*ms: "59 min 59 s", 3599*s + 500*ms: "1 h 00 min", 127 * min: "2 h 07 min",
		24*60*min - 31*s: "23 h 59 min", 24*60*min - 30*s: "1 d 00 h", 76 * 60 * min: "3 d 04 h", -180 * ms: "-180 ms",
		math.MinInt64: "-106752 d 00 h", math.MaxInt64: "106752 d 00 h",
	} {
		if got := Duration(n); got != want {
			t.Errorf("Duration(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Plural(1, "cell") + ", " + Plural(0, "cell"); got != "1 cell, 0 cells" {
		t.Error(got)
	}
}

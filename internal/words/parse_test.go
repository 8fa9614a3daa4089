package words

import (
	"math"
	"testing"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "1023": 1023, "512MiB": 512 << 20, "8GiB": 8 << 30, "8G": 8 << 30, "8gb": 8 << 30,
		"1.5GiB": 3 << 29, "1.5 g": 3 << 29, ".5k": 512, "7b": 7, "1.9b": 1, "2T": 2 << 40, "1p": 1 << 50,
		"9007199254740993": 9007199254740993, "9223372036854775807": math.MaxInt64, "0.0001k": 0, "3.": 3,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", " ", "off", "-1GiB", "+1", "1 bushel", "GiB", "1e400", "1e3", "NaN", "0x10", "1GiB2", "1ib", "1kk", "1 000",
		"1__", "1/3", "8192P", "9223372036854775808", "1  k",
	} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// TestParseBytesReads: ParseBytes reads the output of Bytes back, to the precision of its decimals.
func TestParseBytesReads(t *testing.T) {
	for _, n := range []int64{0, 1, 1023, 1 << 10, 3 << 29, 5 << 40} {
		if got, err := ParseBytes(Bytes(n)); err != nil || got != n {
			t.Errorf("%s is read as %d, %v", Bytes(n), got, err)
		}
	}
}

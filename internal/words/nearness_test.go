package words

import (
	"testing"

	"ipytracer/model"
)

func TestNearnessInWords(t *testing.T) {
	const gib = int64(1) << 30
	known, off := new(int64), gib
	for want, n := range map[string]model.Nearness{
		"1.50 of 2.00 GiB of GPU 0 (75 %)": {
			Level: model.Level{Meter: "gpu.0.driver", Bytes: 2 * gib}, Peak: 3 * gib / 2, Exact: true, Bound: known,
		},
		"1.50 GiB of GPU 11": {
			Level: model.Level{Meter: "gpu.11.driver"}, Peak: 3 * gib / 2, Exact: true, Bound: known,
		},
		"≈512.00 MiB of 2.00 GiB resident (25 %)": {
			Level: model.Level{Meter: "cpu.resident", Bytes: 2 * gib}, Peak: gib / 2, Bound: &off,
		},
		"≥1.00 of 4.00 GiB mapped (25 %)": {Level: model.Level{Meter: "cpu.mapped", Bytes: 4 * gib}, Peak: gib},
		"1.00 of 2.00 GiB of GPU 0 (50 %), where 2.00 MiB more were refused,": {
			Level: model.Level{Meter: "gpu.0.driver", Bytes: 2 * gib}, Peak: gib, Exact: true, Refused: 2 << 20,
		},
		"1 B of 4.00 GiB resident (<1 %)": {
			Level: model.Level{Meter: "cpu.resident", Bytes: 4 * gib}, Peak: 1, Exact: true,
		},
		"4.00 of 3.00 GiB GPU 0 active (133 %)": {
			Level: model.Level{Meter: "gpu.0.active", Bytes: 3 * gib}, Peak: 4 * gib, Exact: true,
		},
	} {
		if got := Near(&n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, share := range map[string]float64{
		"0 %": 0, "<1 %": 0.0001, "98 %": 0.9899, "100 %": 1, "100000000 %": 1e300,
	} {
		if got := Share(share); got != want {
			t.Errorf("%v: got %q, want %q", share, got, want)
		}
	}
	for want, g := range map[string]model.GPU{
		"NVIDIA L4, 22.00 GiB": {Name: "NVIDIA L4", Memory: 22 * gib}, "NVIDIA L4": {Name: "NVIDIA L4"},
		"22.00 GiB": {Memory: 22 * gib}, "": {},
	} {
		if got := Device(&g); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package objects

import "testing"

func TestDTypes(t *testing.T) {
	for _, test := range []struct {
		kind, order byte
		size        uint64
		want        string
	}{
		{'f', '<', 8, "float64"}, {'i', '=', 2, "int16"}, {'u', '|', 1, "uint8"}, {'c', '<', 16, "complex128"},
		{'b', '|', 1, "bool"},
		{'f', '>', 4, ">f4"}, {'O', '|', 8, "object"}, {'U', '<', 100, "U25"}, {'U', '>', 4, ">U1"},
		{'S', '|', 3, "S3"}, {'M', '<', 8, "datetime64"},
		{'V', '|', 24, "V24"}, {'x', '<', 8, ""},
	} {
		if got := dtypeName(test.kind, test.order, test.size); got != test.want {
			t.Errorf("%c%d: %q, want %q", test.kind, test.size, got, test.want)
		}
	}
}

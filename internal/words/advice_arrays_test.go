package words

import "testing"

func TestAdviceOfArrays(t *testing.T) {
	const size = 40 << 20
	for _, of := range []struct{ got, want string }{
		{InPlace("z", size, size),
			"z takes 40.00 MiB, and its steps take 40.00 MiB more: they can write into one array"},
		{InPlaceChanges(), "the numbers are the same"},
		{ViewOfLarge("x", size, 2*size), "x uses 40.00 MiB, and keeps the 80.00 MiB that it was cut from: a copy " +
			"lets go of these"},
		{ViewChanges("x"),
			"the numbers are the same; a change in x no longer reaches the array that it was cut from"},
		{Narrow("x", "float64", "float32", "0", "9"), "x is float64, with numbers from 0 to 9: float32 holds the same"},
		{Narrow("x", "float64", "float32", "", ""), "x is float64: float32 holds the same numbers"},
		{NarrowIntegers("x", "int8"),
			"greater numbers that x gets one day do not fit into int8, and NumPy says so only sometimes"},
		{NarrowFloats("x", "float32"),
			"the numbers in x are the same; those computed from them are float32, and round after 7 digits"},
		{NarrowSample("x", 10, 20), "10 of 20 numbers in x were looked at: others may not fit"},
		{NarrowCalls("x", []string{"fit", "imshow", "hist", "plot"}),
			"x is passed to fit, imshow, hist: whether the dtype matters there is not known"},
	} {
		if of.got != of.want {
			t.Errorf("it says %q, want %q", of.got, of.want)
		}
	}
}

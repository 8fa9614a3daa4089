package words

import "testing"

func TestAdviceOfArrays(t *testing.T) {
	const size = 40 << 20
	for _, of := range []struct{ got, want string }{
		{InPlace("x", size, 2*size, true),
			"x is computed anew beside the old one: its steps can write into the 40.00 MiB that it has"},
		{InPlace("z", size, size, false),
			"z takes 40.00 MiB, and its steps take 40.00 MiB more: they can write into one array"},
		{InPlaceChanges("x", true),
			"the numbers are the same; the array that x has is changed, and nothing else is seen to hold it"},
		{InPlaceChanges("z", false), "the numbers are the same"},
		{SameNumbers(), "the numbers are the same"},
		{InsideSum("work", size, size),
			"only one number of these arrays is used: with one array of 40.00 MiB, work, for all steps it takes " +
				"40.00 MiB less"},
		{Hypotenuse(size, size), "two arrays of squares live beside each other: np.hypot makes one array of 40.00 " +
			"MiB, and takes 40.00 MiB less"},
		{SumOfProducts(size), "an array of 40.00 MiB holds the products for one sum: np.vdot adds them up without it"},
		{MaskedSum(size), "the chosen elements are copied for one number, 40.00 MiB: where= needs no copy"},
		{LastDigits("float32"), "the result may differ after 6 digits, as it is rounded in another order"},
		{LastDigits("float64"), "the result may differ after 14 digits, as it is rounded in another order"},
		{JoinedArrays("X", size, "parts"), "X, 40.00 MiB, is made while all its parts in parts still live: filled " +
			"from the end of the list, each part goes as soon as it is copied"},
		{JoinedChanges("parts", true),
			"the array is the same; parts is gone then, and nothing later is seen to read it"},
		{JoinedChanges("parts", false), "the array is the same"},
		{GeneratorFor("sum", size),
			"sum goes over the list once: without the brackets its 40.00 MiB need not live at the same time"},
		{SparseGrid("X and Y", size), "X and Y hold each axis again and again, 40.00 MiB: with sparse=True they " +
			"hold it once, and NumPy stretches them where they meet"},
		{SparseGridChanges("X and Y"), "the results are the same; the shapes of X and Y themselves differ"},
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
		{SameArray("b", "a", size),
			"b is a copy of a, 40.00 MiB, and neither is changed: both can be names of one array"},
		{SameArrayChanges("b", "a"), "a change in b would be one in a, too; the notebook is not seen to make one"},
	} {
		if of.got != of.want {
			t.Errorf("it says %q, want %q", of.got, of.want)
		}
	}
}

func TestAdviceOfSums(t *testing.T) {
	const size = 40 << 20
	for _, of := range []struct{ got, want string }{
		{SumsOfProducts(size), "an array of 40.00 MiB holds the products for sums along an axis: np.einsum adds them " +
			"up without it"},
		{SumDigits("float64", 10_000), "the result may differ after 14 digits, and earlier where products cancel " +
			"out, as they are added up in another order"},
		{SumDigits("float64", 10_001)[:33], "the result may differ after 13 di"},
		{SumDigits("float32", 10_001)[:33], "the result may differ after 4 dig"},
		{SumDigits("float32", 101)[:33], "the result may differ after 5 dig"},
		{SumDigits("float32", 100)[:33], "the result may differ after 6 dig"},
		{Evaluated(size, 2*size), "the steps of this expression take 80.00 MiB besides its result of 40.00 MiB: " +
			"numexpr computes it block by block, without them"},
		{EvaluatedDigits(), "the result may differ after 14 digits, and earlier where terms cancel out: " +
			"numexpr has functions and powers of its own"},
		{Pairwise(2*size, size), "an array of 80.00 MiB holds the differences of all pairs, for one number of each " +
			"pair, 40.00 MiB together: these can be computed without it"},
		{PairwiseGone("d"), "d is not made: it would hold all pairs at once"},
		{GeneratorForLoop(size), "the loop goes over this list once, and keeps none of its items: made one by one, " +
			"their 40.00 MiB need not live at the same time"},
		{ItemByItem(),
			"the items are the same; each is made when the loop comes to it, so what its making prints comes later"},
	} {
		if of.got != of.want {
			t.Errorf("it says %q, want %q", of.got, of.want)
		}
	}
}

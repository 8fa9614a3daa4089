package words

import (
	"fmt"
	"strings"
)

// InPlace says that an expression makes arrays that one array can do without.
func InPlace(name string, array, saves int64, again bool) string {
	if again {
		return fmt.Sprintf("%s is computed anew beside the old one: its steps can write into the %s that it has",
			name, Bytes(array))
	}
	return fmt.Sprintf("%s takes %s, and its steps take %s more: they can write into one array",
		name, Bytes(array), Bytes(saves))
}

// InPlaceChanges says what in-place steps change.
func InPlaceChanges(name string, again bool) string {
	if again {
		return fmt.Sprintf("the numbers are the same; the array that %s has is changed, "+
			"and nothing else is seen to hold it", name)
	}
	return "the numbers are the same"
}

// SameNumbers says that a change computes the same.
func SameNumbers() string { return "the numbers are the same" }

// InsideSum says that one array is enough for an expression of which only a sum or a mean is used.
func InsideSum(name string, array, saves int64) string {
	return fmt.Sprintf("only one number of these arrays is used: with one array of %s, %s, for all steps "+
		"it takes %s less", Bytes(array), name, Bytes(saves))
}

// Hypotenuse says that np.hypot needs no squares.
func Hypotenuse(array, saves int64) string {
	return fmt.Sprintf("two arrays of squares live beside each other: np.hypot makes one array of %s, "+
		"and takes %s less", Bytes(array), Bytes(saves))
}

// SumOfProducts says that a sum of products needs no array of products.
func SumOfProducts(array int64) string {
	return fmt.Sprintf("an array of %s holds the products for one sum: np.vdot adds them up without it", Bytes(array))
}

// SumsOfProducts says that sums of products along an axis need no array of products.
func SumsOfProducts(array int64) string {
	return fmt.Sprintf("an array of %s holds the products for sums along an axis: np.einsum adds them up without it",
		Bytes(array))
}

// SumDigits says how many digits of a sum of so many products are the same when they are added up one by one.
func SumDigits(dtype string, terms int64) string {
	digits := 14
	switch {
	case dtype == "float32" && terms > 10_000:
		digits = 4
	case dtype == "float32" && terms > 100:
		digits = 5
	case dtype == "float32":
		digits = 6
	case terms > 10_000:
		digits = 13
	}
	return fmt.Sprintf("the result may differ after %d digits, and earlier where products cancel out, "+
		"as they are added up in another order", digits)
}

// MaskedSum says that where= needs no copy of the chosen elements.
func MaskedSum(saves int64) string {
	return fmt.Sprintf("the chosen elements are copied for one number, %s: where= needs no copy", Bytes(saves))
}

// LastDigits says that sums and roots round in another order.
func LastDigits(dtype string) string {
	if dtype == "float32" {
		return "the result may differ after 6 digits, as it is rounded in another order"
	}
	return "the result may differ after 14 digits, as it is rounded in another order"
}

// JoinedArrays says that a list of arrays and the array made of them live beside each other.
func JoinedArrays(name string, array int64, list string) string {
	return fmt.Sprintf("%s, %s, is made while all its parts in %s still live: filled from the end of the list, "+
		"each part goes as soon as it is copied", name, Bytes(array), list)
}

// JoinedChanges says what changes with a list that is emptied.
func JoinedChanges(list string, named bool) string {
	if named {
		return fmt.Sprintf("the array is the same; %s is gone then, and nothing later is seen to read it", list)
	}
	return "the array is the same"
}

// GeneratorFor says that a list is made for one pass over it.
func GeneratorFor(function string, bytes int64) string {
	return fmt.Sprintf("%s goes over the list once: without the brackets its %s need not live at the same time",
		function, Bytes(bytes))
}

// GeneratorForLoop says that a list is made for a loop over it.
func GeneratorForLoop(bytes int64) string {
	return fmt.Sprintf("the loop goes over this list once, and keeps none of its items: made one by one, "+
		"their %s need not live at the same time", Bytes(bytes))
}

// ItemByItem says what changes when items are made one by one.
func ItemByItem() string {
	return "the items are the same; each is made when the loop comes to it, so what its making prints comes later"
}

// SparseGrid says that the axes of a grid are enough.
func SparseGrid(names string, bytes int64) string {
	return fmt.Sprintf("%s hold each axis again and again, %s: with sparse=True they hold it once, "+
		"and NumPy stretches them where they meet", names, Bytes(bytes))
}

// SparseGridChanges says what changes with a sparse grid.
func SparseGridChanges(names string) string {
	return fmt.Sprintf("the results are the same; the shapes of %s themselves differ", names)
}

// ViewOfLarge says that a small view keeps a large array.
func ViewOfLarge(name string, view, base int64) string {
	return fmt.Sprintf("%s uses %s, and keeps the %s that it was cut from: a copy lets go of these",
		name, Bytes(view), Bytes(base))
}

// ViewChanges says what changes with a copy.
func ViewChanges(name string) string {
	return fmt.Sprintf("the numbers are the same; a change in %s no longer reaches the array that it was cut from",
		name)
}

// Narrow says that a narrower dtype holds the same numbers.
func Narrow(name, dtype, narrow, least, greatest string) string {
	if least == "" || greatest == "" {
		return fmt.Sprintf("%s is %s: %s holds the same numbers", name, dtype, narrow)
	}
	return fmt.Sprintf("%s is %s, with numbers from %s to %s: %s holds the same", name, dtype, least, greatest, narrow)
}

// NarrowIntegers says what changes with a narrower dtype for integers.
func NarrowIntegers(name, dtype string) string {
	return fmt.Sprintf("greater numbers that %s gets one day do not fit into %s, and NumPy says so only sometimes",
		name, dtype)
}

// NarrowFloats says what changes with a narrower dtype for floats.
func NarrowFloats(name, dtype string) string {
	return fmt.Sprintf("the numbers in %s are the same; those computed from them are %s, and round after 7 digits",
		name, dtype)
}

// NarrowSample says that not all numbers were looked at.
func NarrowSample(name string, seen, all int64) string {
	return fmt.Sprintf("%d of %d numbers in %s were looked at: others may not fit", seen, all, name)
}

// NarrowCalls names functions that may depend on a dtype.
func NarrowCalls(name string, calls []string) string {
	return fmt.Sprintf("%s is passed to %s: whether the dtype matters there is not known", name,
		strings.Join(calls[:min(len(calls), 3)], ", "))
}

// SameArray says that two names have copies of the same array.
func SameArray(name, of string, bytes int64) string {
	return fmt.Sprintf("%s is a copy of %s, %s, and neither is changed: both can be names of one array", name, of,
		Bytes(bytes))
}

// SameArrayChanges says what changes with one array for two names.
func SameArrayChanges(name, of string) string {
	return fmt.Sprintf("a change in %s would be one in %s, too; the notebook is not seen to make one", name, of)
}

// Pairwise says that the differences of all pairs are held for one number of each pair.
func Pairwise(differences, result int64) string {
	return fmt.Sprintf("an array of %s holds the differences of all pairs, for one number of each pair, %s together: "+
		"these can be computed without it", Bytes(differences), Bytes(result))
}

// PairwiseGone stands in the code where an array of differences was made.
func PairwiseGone(name string) string { return name + " is not made: it would hold all pairs at once" }

// Evaluated says that numexpr needs no intermediate arrays.
func Evaluated(result, saves int64) string {
	return fmt.Sprintf("the steps of this expression take %s besides its result of %s: numexpr computes it block by "+
		"block, without them", Bytes(saves), Bytes(result))
}

// EvaluatedDigits says what changes with numexpr.
func EvaluatedDigits() string {
	return "the result may differ after 14 digits, and earlier where terms cancel out: " +
		"numexpr has functions and powers of its own"
}

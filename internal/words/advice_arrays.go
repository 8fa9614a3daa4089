package words

import (
	"fmt"
	"strings"
)

// InPlace says that an expression makes arrays that one array can do without.
func InPlace(name string, array, saves int64) string {
	return fmt.Sprintf("%s takes %s, and its steps take %s more: they can write into one array",
		name, Bytes(array), Bytes(saves))
}

// InPlaceChanges says what in-place steps change.
func InPlaceChanges() string { return "the numbers are the same" }

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

package contents

import (
	"math"
	"strconv"
	"unsafe"
)

// integers scans elements of a type of integers.
type integers[T integer] struct {
	low, high T
	zeros     int64
	seen      bool
	values    distinct
	order     order[T]
}

func newIntegers[T integer]() *integers[T] { return &integers[T]{} }

// elements returns the bytes of a part as elements, without a copy if they are aligned. A rest that is no whole element
// is left out.
func elements[T any](part []byte) []T {
	var element T
	size := int(unsafe.Sizeof(element))
	if len(part) < size {
		return nil
	}
	if uintptr(unsafe.Pointer(&part[0]))%unsafe.Alignof(element) != 0 {
		copied := make([]uint64, (len(part)+7)/8)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&copied[0])), len(part)), part)
		return unsafe.Slice((*T)(unsafe.Pointer(&copied[0])), len(part)/size)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&part[0])), len(part)/size)
}

func (n *integers[T]) skip() {}

func (n *integers[T]) add(part []byte) {
	rest := elements[T](part)
	if len(rest) == 0 {
		return
	}
	if !n.seen {
		n.low, n.high, n.seen = rest[0], rest[0], true
	}
	for len(rest) > 0 {
		values := rest[:min(block, len(rest))]
		rest = rest[len(values):]
		n.extremes(values)
		n.count(values)
		n.order.add(values)
	}
}

// extremes adds values to the least and the greatest number, and to the zeros.
func (n *integers[T]) extremes(values []T) {
	low, high, zeros := n.low, n.high, int64(0)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
		if v == 0 {
			zeros++
		}
	}
	n.low, n.high, n.zeros = low, high, n.zeros+zeros
}

// count adds values to the different ones.
func (n *integers[T]) count(values []T) {
	if n.values.many {
		return
	}
	before := values[0] + 1 // another value
	for _, v := range values {
		if v != before {
			n.values.add(uint64(v))
		}
		before = v
	}
}

func (n *integers[T]) facts() facts {
	f := facts{zeros: n.zeros, distinct: n.values.number(), ascending: !n.order.falls}
	if !n.seen {
		return f
	}
	size := int(unsafe.Sizeof(n.low))
	f.min, f.max = digits(n.low), digits(n.high)
	f.fits = narrowest(size, n.low < 0, int64(n.low), uint64(max(n.high, 0)))
	return f
}

// digits writes an integer.
func digits[T integer](v T) string {
	if v < 0 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(uint64(v), 10)
}

// narrowest returns the narrowest type of integers that has low and high, of less than size bytes; "" for none. Of two
// types of the same size it prefers the signed one. low counts only if negative is true.
func narrowest(size int, negative bool, low int64, high uint64) string {
	for bytes := 1; bytes < size; bytes *= 2 {
		bits := 8 * bytes
		most := uint64(1)<<(bits-1) - 1
		if high <= most && (!negative || low >= -int64(most)-1) {
			return "int" + strconv.Itoa(bits)
		}
		if !negative && high <= 2*most+1 {
			return "uint" + strconv.Itoa(bits)
		}
	}
	return ""
}

// times scans times: integers, of which the least stands for no time (NaT).
type times struct {
	integers[int64]
	missing int64
	known   []int64 // buffer: the elements of a part that are no NaT
}

func (t *times) add(part []byte) {
	const nat = math.MinInt64
	values := elements[int64](part)
	t.known = t.known[:0]
	for _, v := range values {
		if v != nat {
			t.known = append(t.known, v)
		}
	}
	if n := len(values) - len(t.known); n > 0 {
		t.missing += int64(n)
		t.values.add(1 << 63) // the bits of NaT
	}
	if len(t.known) > 0 {
		t.integers.add(unsafe.Slice((*byte)(unsafe.Pointer(&t.known[0])), 8*len(t.known)))
	}
}

func (t *times) facts() facts {
	f := t.integers.facts()
	f.missing, f.fits = t.missing, ""
	f.ascending = f.ascending && t.missing == 0
	return f
}

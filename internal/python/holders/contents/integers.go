package contents

import (
	"math"
	"strconv"
	"unsafe"
)

// integers are numbers without a fraction.
type integers[T integer] struct {
	low, high T
	zeros     int64
	seen      bool
	values    distinct
	order     order[T]
}

func newIntegers[T integer]() *integers[T] { return &integers[T]{} }

// elements returns the bytes of a part as elements. Elements are whole, and aligned as the parts are.
func elements[T any](part []byte) []T {
	var one T
	size := int(unsafe.Sizeof(one))
	if len(part) < size {
		return nil
	}
	if uintptr(unsafe.Pointer(&part[0]))%unsafe.Alignof(one) != 0 {
		copied := make([]uint64, (len(part)+7)/8)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&copied[0])), len(part)), part)
		return unsafe.Slice((*T)(unsafe.Pointer(&copied[0])), len(part)/size)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&part[0])), len(part)/size)
}

func (n *integers[T]) skip() {}

func (n *integers[T]) add(part []byte) {
	all := elements[T](part)
	if len(all) == 0 {
		return
	}
	if !n.seen {
		n.low, n.high, n.seen = all[0], all[0], true
	}
	for len(all) > 0 {
		some := all[:min(block, len(all))]
		all = all[len(some):]
		n.extremes(some)
		n.count(some)
		n.order.add(some)
	}
}

func (n *integers[T]) extremes(some []T) {
	low, high, zeros := n.low, n.high, int64(0)
	for _, v := range some {
		low, high = min(low, v), max(high, v)
		if v == 0 {
			zeros++
		}
	}
	n.low, n.high, n.zeros = low, high, n.zeros+zeros
}

func (n *integers[T]) count(some []T) {
	if n.values.many {
		return
	}
	before := some[0] + 1
	for _, v := range some {
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
	var one T
	f.min, f.max = digits(n.low), digits(n.high)
	f.fits = narrowest(int(unsafe.Sizeof(one)), n.low < 0, int64(n.low), uint64(max(n.high, 0)))
	return f
}

// digits writes an integer.
func digits[T integer](v T) string {
	if v < 0 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(uint64(v), 10)
}

// narrowest returns the narrowest type of integers of less than size bytes that fits. Of two types of one size it
// prefers the signed one.
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

// times are integers. One value of them stands for no time: NaT.
type times struct {
	integers[int64]
	missing int64
	known   []int64
}

func (t *times) add(part []byte) {
	all := elements[int64](part)
	t.known = t.known[:0]
	for _, v := range all {
		if v != math.MinInt64 {
			t.known = append(t.known, v)
		}
	}
	if n := len(all) - len(t.known); n > 0 {
		t.missing += int64(n)
		t.values.add(1 << 63)
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

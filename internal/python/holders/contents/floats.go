package contents

import (
	"math"
	"strconv"
	"sync"
	"unsafe"
)

// floats are numbers that may have a fraction.
type floats[T float] struct {
	low, high         T
	zeros             int64
	missing, infinite int64
	fraction          bool // one is no integer
	wide, half        bool // one does not fit into float32, or float16
	values            distinct
	order             order[T]
}

func newFloats[T float]() *floats[T] {
	return &floats[T]{low: T(math.Inf(1)), high: T(math.Inf(-1))}
}

func (n *floats[T]) skip() {}

func (n *floats[T]) add(part []byte) { n.take(elements[T](part)) }

func (n *floats[T]) take(all []T) {
	for len(all) > 0 {
		some := all[:min(block, len(all))]
		all = all[len(some):]
		n.extremes(some)
		n.narrow(some)
		n.count(some)
		n.order.add(some)
	}
}

func (n *floats[T]) extremes(some []T) {
	low, high, zeros := n.low, n.high, int64(0)
	for _, v := range some {
		if v-v != 0 {
			n.odd(v)
			continue
		}
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		if v == 0 {
			zeros++
		}
	}
	n.low, n.high, n.zeros = low, high, n.zeros+zeros
}

// odd counts a NaN or an infinity.
func (n *floats[T]) odd(v T) {
	if v != v {
		n.missing++
	} else {
		n.infinite++
	}
}

// narrow looks at integers and narrower types, as long as an answer is open.
func (n *floats[T]) narrow(some []T) {
	if !n.fraction {
		for _, v := range some {
			if v-v == 0 && T(math.Trunc(float64(v))) != v {
				n.fraction = true
				break
			}
		}
	}
	var one T
	if unsafe.Sizeof(one) == 8 && !n.wide {
		for _, v := range some {
			if T(float32(v)) != v && v == v {
				n.wide = true
				break
			}
		}
	}
	if n.half || n.wide {
		return
	}
	for _, v := range some {
		if !isHalf(float32(v)) {
			n.half = true
			break
		}
	}
}

// isHalf reports whether a number is one of float16's: 11 bits, at most 65,504, at least 2^-24.
func isHalf(v float32) bool {
	const unit, most, normal = 1 << 24, 65504, 1.0 / (1 << 14)
	size := float32(math.Abs(float64(v)))
	switch {
	case v-v != 0:
		return true // they are in every type
	case size > most:
		return false
	case size >= normal:
		return math.Float32bits(v)&0x1fff == 0
	}
	scaled := float64(v) * unit
	return scaled == math.Trunc(scaled)
}

func (n *floats[T]) count(some []T) {
	if n.values.many {
		return
	}
	before := uint64(1) // of no number
	for _, v := range some {
		bits := math.Float64bits(float64(v) + 0) // one zero
		if v != v {
			bits = math.Float64bits(math.NaN())
		}
		if bits != before {
			n.values.add(bits)
		}
		before = bits
	}
}

func (n *floats[T]) facts() facts {
	f := facts{zeros: n.zeros, missing: n.missing, infinite: n.infinite, distinct: n.values.number(),
		ascending: !n.order.falls, fits: n.fits("float", 1)}
	if n.low <= n.high {
		f.min, f.max, f.whole = decimal(n.low), decimal(n.high), !n.fraction
	}
	return f
}

// fits returns the narrowest type that has all numbers, so many in an element.
func (n *floats[T]) fits(kind string, parts int) string {
	var one T
	switch {
	case n.values.count == 0 || n.wide:
		return ""
	case !n.half && kind == "float":
		return "float16"
	case unsafe.Sizeof(one) == 8:
		return kind + strconv.Itoa(32*parts)
	}
	return ""
}

// decimal writes a number so that a float64 can be read back exactly.
func decimal[T float](v T) string {
	return strconv.FormatFloat(float64(v)+0, 'g', -1, 64)
}

// halves are numbers of 16 bits.
type halves struct {
	floats[float32]
	brain bool // bfloat16
	wider [block]float32
}

func (h *halves) add(part []byte) {
	all, values := elements[uint16](part), halfValues()
	for len(all) > 0 {
		some := all[:min(block, len(all))]
		all = all[len(some):]
		for i, v := range some {
			if h.brain {
				h.wider[i] = math.Float32frombits(uint32(v) << 16)
			} else {
				h.wider[i] = values[v]
			}
		}
		h.take(h.wider[:len(some)])
	}
}

func (h *halves) facts() facts {
	f := h.floats.facts()
	f.fits = ""
	return f
}

// halfValues are the values of all float16s.
var halfValues = sync.OnceValue(func() *[1 << 16]float32 {
	var all [1 << 16]float32
	for i := range all {
		all[i] = halfValue(uint16(i))
	}
	return &all
})

// halfValue is the value of a float16: a sign, 5 bits of exponent, 10 of fraction.
func halfValue(v uint16) float32 {
	exponent, fraction := int(v>>10&0x1f), float64(v&0x3ff)
	out := 0.0
	switch exponent {
	case 0x1f:
		if out = math.Inf(1); fraction != 0 {
			out = math.NaN()
		}
	case 0:
		out = fraction / (1 << 24)
	default:
		out = math.Ldexp(1+fraction/(1<<10), exponent-15)
	}
	if v&0x8000 != 0 {
		out = -out
	}
	return float32(out)
}

// pairs are complex numbers.
type pairs[T float] struct {
	real, imaginary *floats[T]
	one, other      [block]T
}

func newPairs[T float]() *pairs[T] { return &pairs[T]{real: newFloats[T](), imaginary: newFloats[T]()} }

func (p *pairs[T]) skip() {}

func (p *pairs[T]) add(part []byte) {
	all := elements[T](part)
	for len(all) >= 2 {
		n := min(block, len(all)/2)
		for i := range n {
			p.one[i], p.other[i] = all[2*i], all[2*i+1]
		}
		p.real.take(p.one[:n])
		p.imaginary.take(p.other[:n])
		all = all[2*n:]
	}
}

// facts are those of the real parts, where there is nothing else.
func (p *pairs[T]) facts() facts {
	i := p.imaginary
	if i.low == 0 && i.high == 0 && i.missing+i.infinite == 0 {
		f := p.real.facts()
		f.real, f.fits = true, p.real.fits("complex", 2)
		return f
	}
	f := facts{}
	if p.real.fits("complex", 2) != "" {
		f.fits = i.fits("complex", 2)
	}
	return f
}

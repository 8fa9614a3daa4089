package contents

import (
	"math"
	"strconv"
	"sync"
	"unsafe"
)

// floats scans elements of a type of floating-point numbers.
type floats[T float] struct {
	low, high         T
	zeros             int64
	missing, infinite int64
	fraction          bool // a finite number is no integer
	wide              bool // a number does not fit into float32
	half              bool // a number does not fit into float16
	values            distinct
	order             order[T]
}

func newFloats[T float]() *floats[T] {
	return &floats[T]{low: T(math.Inf(1)), high: T(math.Inf(-1))}
}

func (n *floats[T]) skip() {}

func (n *floats[T]) add(part []byte) { n.scan(elements[T](part)) }

// scan scans numbers.
func (n *floats[T]) scan(rest []T) {
	for len(rest) > 0 {
		values := rest[:min(block, len(rest))]
		rest = rest[len(values):]
		n.extremes(values)
		n.narrow(values)
		n.count(values)
		n.order.add(values)
	}
}

// extremes adds numbers to the least and the greatest finite number, and counts zeros, NaNs and infinities.
func (n *floats[T]) extremes(values []T) {
	low, high, zeros := n.low, n.high, int64(0)
	for _, v := range values {
		if v-v != 0 { // NaN or an infinity
			n.countNonFinite(v)
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

// countNonFinite counts a NaN or an infinity.
func (n *floats[T]) countNonFinite(v T) {
	if v != v {
		n.missing++
	} else {
		n.infinite++
	}
}

// narrow finds out whether all numbers are integers, and whether they fit into narrower types. It skips a question that
// an earlier number has answered with no.
func (n *floats[T]) narrow(values []T) {
	if !n.fraction {
		n.fraction = anyFraction(values)
	}
	if unsafe.Sizeof(n.low) == 8 && !n.wide {
		n.wide = anyWide(values)
	}
	if !n.half && !n.wide {
		n.half = anyNotHalf(values)
	}
}

// anyFraction reports whether a finite number is no integer.
func anyFraction[T float](values []T) bool {
	for _, v := range values {
		if v-v == 0 && T(math.Trunc(float64(v))) != v {
			return true
		}
	}
	return false
}

// anyWide reports whether a number does not fit into float32.
func anyWide[T float](values []T) bool {
	for _, v := range values {
		if T(float32(v)) != v && v == v {
			return true
		}
	}
	return false
}

// anyNotHalf reports whether a number does not fit into float16.
func anyNotHalf[T float](values []T) bool {
	for _, v := range values {
		if !isHalf(float32(v)) {
			return true
		}
	}
	return false
}

// isHalf reports whether float16 has a number. float16 has 11 bits, at most 65,504, and at least 2^-24.
func isHalf(v float32) bool {
	const unit, most, normal = 1 << 24, 65504, 1.0 / (1 << 14)
	const lostBits = 0x1fff // of a float32's fraction
	size := float32(math.Abs(float64(v)))
	switch {
	case v-v != 0:
		return true // every type has NaN and the infinities
	case size > most:
		return false
	case size >= normal:
		return math.Float32bits(v)&lostBits == 0
	}
	scaled := float64(v) * unit
	return scaled == math.Trunc(scaled)
}

// count adds numbers to the different values. All NaNs are one value, and both zeros are.
func (n *floats[T]) count(values []T) {
	if n.values.many {
		return
	}
	before := uint64(1) // bits that differ from those of the first number
	for _, v := range values {
		bits := math.Float64bits(float64(v) + 0) // +0 also for -0
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

// fits returns the narrowest type that has all numbers, "" if there is no narrower one. kind is "float", or "complex"
// with two parts in an element.
func (n *floats[T]) fits(kind string, parts int) string {
	switch {
	case n.values.count == 0 || n.wide:
		return ""
	case !n.half && kind == "float":
		return "float16"
	case unsafe.Sizeof(n.low) == 8:
		return kind + strconv.Itoa(32*parts)
	}
	return ""
}

// decimal writes a number with as many digits as are needed to read it back exactly as a float64.
func decimal[T float](v T) string {
	return strconv.FormatFloat(float64(v)+0, 'g', -1, 64)
}

// halves scans floating-point numbers of 16 bits: float16, or bfloat16.
type halves struct {
	floats[float32]
	isBFloat16 bool
	wider      [block]float32 // buffer: a block of numbers as float32
}

func (h *halves) add(part []byte) {
	rest, values := elements[uint16](part), halfValues()
	for len(rest) > 0 {
		raw := rest[:min(block, len(rest))]
		rest = rest[len(raw):]
		for i, v := range raw {
			if h.isBFloat16 {
				h.wider[i] = math.Float32frombits(uint32(v) << 16)
			} else {
				h.wider[i] = values[v]
			}
		}
		h.scan(h.wider[:len(raw)])
	}
}

func (h *halves) facts() facts {
	f := h.floats.facts()
	f.fits = ""
	return f
}

// halfValues returns the values of all float16s, by their bits.
var halfValues = sync.OnceValue(func() *[1 << 16]float32 {
	var values [1 << 16]float32
	for i := range values {
		values[i] = halfValue(uint16(i))
	}
	return &values
})

// halfValue returns the value of a float16 by its bits: a sign, 5 bits of exponent, 10 of fraction.
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

// pairs scans complex numbers.
type pairs[T float] struct {
	real, imaginary           *floats[T]
	realParts, imaginaryParts [block]T // buffers
}

func newPairs[T float]() *pairs[T] { return &pairs[T]{real: newFloats[T](), imaginary: newFloats[T]()} }

func (p *pairs[T]) skip() {}

func (p *pairs[T]) add(part []byte) {
	rest := elements[T](part)
	for len(rest) >= 2 {
		n := min(block, len(rest)/2)
		for i := range n {
			p.realParts[i], p.imaginaryParts[i] = rest[2*i], rest[2*i+1]
		}
		p.real.scan(p.realParts[:n])
		p.imaginary.scan(p.imaginaryParts[:n])
		rest = rest[2*n:]
	}
}

// facts returns the facts about the real parts if all imaginary parts are 0. Else it knows only which type fits.
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

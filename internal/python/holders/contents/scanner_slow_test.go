package contents

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// value is an element as the slow way reads it.
type value struct {
	text    string
	number  *big.Float // nil for none
	missing bool
	inf     int
}

// numberOf reads a float of any width by its definition.
func numberOf(bits uint64, exponentBits, fractionBits int) value {
	fraction := bits & (1<<fractionBits - 1)
	exponent := int(bits >> fractionBits & (1<<exponentBits - 1))
	negative := bits>>(fractionBits+exponentBits)&1 == 1
	if exponent == 1<<exponentBits-1 {
		if fraction != 0 {
			return value{text: "nan", missing: true}
		}
		return value{text: fmt.Sprint("inf", negative), inf: 1}
	}
	bias := 1<<(exponentBits-1) - 1
	if exponent == 0 {
		exponent = 1
	} else {
		fraction |= 1 << fractionBits
	}
	n := new(big.Float).SetMantExp(new(big.Float).SetUint64(fraction), exponent-bias-fractionBits)
	if negative && n.Sign() != 0 {
		n.Neg(n)
	}
	return value{text: n.Text('g', 40), number: n}
}

func read(t elementType, b []byte) value {
	raw := make([]byte, 8)
	copy(raw, b)
	bits := binary.LittleEndian.Uint64(raw)
	switch t.kind {
	case 'b', 'u':
		n := new(big.Float).SetUint64(bits)
		return value{text: n.Text('g', 40), number: n}
	case 'i', 'm', 'M':
		signed := int64(bits) << (64 - 8*t.size) >> (64 - 8*t.size)
		if t.kind != 'i' && signed == math.MinInt64 {
			return value{text: "NaT", missing: true}
		}
		n := new(big.Float).SetInt64(signed)
		return value{text: n.Text('g', 40), number: n}
	case 'B':
		return numberOf(bits, 8, 7)
	case 'f':
		widths := map[int][2]int{2: {5, 10}, 4: {8, 23}, 8: {11, 52}}[t.size]
		return numberOf(bits, widths[0], widths[1])
	}
	return value{text: strings.TrimRight(string(b), "\x00")}
}

// slow finds the facts by definition.
func slow(t elementType, raw []byte) facts {
	f := facts{ascending: true, ascii: true, whole: t.kind == 'f' || t.kind == 'B'}
	var low, high, last *big.Float
	different := map[string]bool{}
	for ; len(raw) >= t.size; raw = raw[t.size:] {
		v := read(t, raw[:t.size])
		f.seen++
		different[v.text] = true
		switch {
		case t.kind == 'S' || t.kind == 'U':
			char := map[byte]int{'S': 1, 'U': 4}[t.kind]
			chars := (len(v.text) + char - 1) / char
			f.longest = max(f.longest, int64(chars))
			if chars == 0 {
				f.zeros++
			}
			for i := range len(v.text) {
				f.ascii = f.ascii && v.text[i] < 128 && (v.text[i] == 0 || i%char == 0)
			}
			continue
		case v.missing:
			f.missing++
			f.ascending = false
			continue
		case v.number == nil:
			f.infinite++
			v.number = new(big.Float).SetInf(v.text == "inftrue")
		default:
			if v.number.Sign() == 0 {
				f.zeros++
			}
			f.whole = f.whole && v.number.IsInt()
			if low == nil || v.number.Cmp(low) < 0 {
				low = v.number
			}
			if high == nil || v.number.Cmp(high) > 0 {
				high = v.number
			}
		}
		f.ascending = f.ascending && (last == nil || v.number.Cmp(last) >= 0)
		last = v.number
	}
	if len(different) <= maxDistinct {
		f.distinct = int64(len(different))
	}
	if low == nil {
		f.whole = false
	} else {
		f.min, f.max = low.Text('g', 40), high.Text('g', 40)
	}
	text := t.kind == 'S' || t.kind == 'U'
	f.ascending, f.ascii = f.ascending && !text && f.seen > 0, f.ascii && text
	return f
}

// fits checks the claim that a narrower type holds everything, by converting each element there and back.
func fits(t elementType, raw []byte, to string) bool {
	for ; len(raw) >= t.size; raw = raw[t.size:] {
		v := read(t, raw[:t.size])
		if v.number == nil {
			continue
		}
		var bits int
		if n, _ := fmt.Sscanf(to, "float%d", &bits); n == 1 {
			widths := map[int][3]int{16: {11, -24, 16}, 32: {24, -149, 128}}[bits]
			if !isOf(v.number, widths[0], widths[1], widths[2]) {
				return false
			}
			continue
		}
		n, _ := v.number.Int(nil)
		if n, _ := fmt.Sscanf(to, "uint%d", &bits); n != 1 {
			fmt.Sscanf(to, "int%d", &bits)
			half := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
			if v.number.Cmp(new(big.Float).SetInt(half)) >= 0 ||
				v.number.Cmp(new(big.Float).SetInt(half.Neg(half))) < 0 {
				return false
			}
			continue
		}
		if n.Sign() < 0 || n.BitLen() > bits {
			return false
		}
	}
	return true
}

// isOf reports whether a number has at most so many bits, none below 2^least and none from 2^most on.
func isOf(n *big.Float, bits, least, most int) bool {
	if n.Sign() == 0 {
		return true
	}
	exponent := n.MantExp(nil) // n = 0.xxx * 2^exponent
	return int(n.MinPrec()) <= bits && exponent <= most && exponent-int(n.MinPrec()) >= least
}

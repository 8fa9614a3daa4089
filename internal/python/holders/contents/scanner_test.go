package contents

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"ipytracer/internal/hostile"
)

var types = []elementType{
	{'b', 1}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8}, {'u', 1}, {'u', 2}, {'u', 4}, {'u', 8}, {'m', 8}, {'M', 8},
	{'f', 2}, {'B', 2}, {'f', 4}, {'f', 8}, {'c', 8}, {'c', 16}, {'S', 1}, {'S', 7}, {'U', 4}, {'U', 40},
}

// scan takes bytes in parts of a size.
func scan(t elementType, raw []byte, part int) facts {
	s := newScanner(t, maphash.MakeSeed())
	for len(raw) > 0 {
		n := min(part*t.size, len(raw))
		s.Add(raw[:n])
		raw = raw[n:]
	}
	return s.facts()
}

// same compares facts with those found by definition.
func same(t *testing.T, of elementType, raw []byte, got facts) {
	t.Helper()
	if of.kind == 'c' {
		samePairs(t, of, raw, got)
		return
	}
	want := slow(of, raw)
	narrower := got.fits
	got.fits = ""
	for _, s := range []*string{&got.min, &got.max} {
		if n, _, err := big.ParseFloat(*s, 10, 600, big.ToNearestEven); err == nil {
			if of.kind == 'f' || of.kind == 'B' { // digits that give the same float64
				near, _ := n.Float64()
				n = big.NewFloat(near)
			}
			*s = n.Text('g', 40)
		}
	}
	if got != want {
		t.Errorf("%c%d: %+v\nwant %+v\n%x", of.kind, of.size, got, want, raw[:min(64, len(raw))])
	}
	checkFits(t, of, raw, narrower)
}

func checkFits(t *testing.T, of elementType, raw []byte, narrower string) {
	t.Helper()
	var candidates []string
	switch of.kind {
	case 'i', 'u', 'b':
		for bits := 8; bits < 8*of.size; bits *= 2 {
			candidates = append(candidates, fmt.Sprint("int", bits), fmt.Sprint("uint", bits))
		}
	case 'f':
		for bits := 16; bits < 8*of.size; bits *= 2 {
			candidates = append(candidates, fmt.Sprint("float", bits))
		}
	default:
		return
	}
	want := ""
	for _, c := range candidates {
		if len(raw) >= of.size && fits(of, raw, c) {
			want = c
			break
		}
	}
	if narrower != want {
		t.Errorf("%c%d: fits %q, want %q: %x", of.kind, of.size, narrower, want, raw[:min(64, len(raw))])
	}
}

func samePairs(t *testing.T, of elementType, raw []byte, got facts) {
	t.Helper()
	half := of.size / 2
	var parts [2][]byte
	for i := 0; i+of.size <= len(raw); i += of.size {
		parts[0] = append(parts[0], raw[i:i+half]...)
		parts[1] = append(parts[1], raw[i+half:i+of.size]...)
	}
	imaginary := slow(elementType{'f', half}, parts[1])
	if isReal := imaginary.seen > 0 && imaginary.zeros == imaginary.seen; got.real != isReal {
		t.Errorf("real is %t: %x", got.real, raw)
	}
	want := ""
	if of.size == 16 && len(raw) >= of.size && fits(elementType{'f', 8}, parts[0], "float32") &&
		fits(elementType{'f', 8}, parts[1], "float32") {
		want = "complex64"
	}
	if got.fits != want || got.seen != imaginary.seen {
		t.Errorf("%+v, want %q, %d elements", got, want, imaginary.seen)
	}
	if got.real {
		if of := slow(elementType{'f', half}, parts[0]); got.zeros != of.zeros || got.distinct != of.distinct {
			t.Errorf("%+v, want %+v", got, of)
		}
	}
}

// made makes elements: of all bits, of few values, small ones, ascending ones.
func made(of elementType, r *rand.Rand, n int) []byte {
	raw := make([]byte, n*of.size)
	switch r.IntN(4) {
	case 0:
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
	case 1:
		for i := range raw {
			raw[i] = []byte{0, 0, 0, 1, 0x80, 0xff}[r.IntN(6)]
		}
	case 2:
		few := 1 + r.IntN(300)
		for i := range n {
			put(of, raw[i*of.size:], int64(r.IntN(few)-few/2))
		}
	case 3:
		for i := range n {
			put(of, raw[i*of.size:], int64(i/(1+r.IntN(2))))
		}
	}
	return raw
}

// put writes a small number.
func put(of elementType, at []byte, v int64) {
	var bits uint64
	switch {
	case of.kind == 'f' && of.size == 8:
		bits = math.Float64bits(float64(v) / 4)
	case of.kind == 'f' && of.size == 4:
		bits = uint64(math.Float32bits(float32(v)))
	case of == elementType{'c', 16}:
		bits = math.Float64bits(float64(v))
	case of == elementType{'c', 8}:
		bits = uint64(math.Float32bits(float32(v)))
	default:
		bits = uint64(v)
	}
	raw := binary.LittleEndian.AppendUint64(nil, bits)
	copy(at[:min(of.size, len(at))], raw)
}

// TestFactsAreTrue compares the facts about arrays of every type with those that follow from the definitions.
func TestFactsAreTrue(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 1))
	for _, of := range types {
		for range 60 {
			raw := made(of, r, r.IntN(1500))
			same(t, of, raw, scan(of, raw, 1+r.IntN(2000)))
		}
	}
}

// TestHalvesAreTrue compares each float16 with its definition.
func TestHalvesAreTrue(t *testing.T) {
	for bits := range 1 << 16 {
		want := numberOf(uint64(bits), 5, 10)
		got := halfValue(uint16(bits))
		if want.number != nil {
			if n, _ := want.number.Float32(); n != got {
				t.Fatalf("%04x: %g, want %g", bits, got, n)
			}
			if !isHalf(got) {
				t.Fatalf("%04x: %g is not of float16", bits, got)
			}
		} else if got-got == 0 {
			t.Fatalf("%04x: %g", bits, got)
		}
	}
}

// TestHashesOfTheSameBytes: the same bytes have the same hash, whatever their type and parts; a gap or other bytes take
// it away.
func TestHashesOfTheSameBytes(t *testing.T) {
	seed, raw := maphash.MakeSeed(), made(elementType{'u', 1}, rand.New(rand.NewPCG(1, 1)), 4000)
	sum := func(of elementType, part int, gap bool) (uint64, bool) {
		s := newScanner(of, seed)
		for i := 0; i < len(raw); i += part {
			s.Add(raw[i:min(i+part, len(raw))])
			if gap && i == 0 {
				s.skip()
			}
		}
		return s.sum()
	}
	want, all := sum(elementType{'f', 8}, 4000, false)
	if got, also := sum(elementType{'i', 4}, 16, false); !all || !also || got != want {
		t.Errorf("%x, %x", want, got)
	}
	if _, all := sum(elementType{'i', 4}, 16, true); all {
		t.Error("a hash in spite of a gap")
	}
	if _, all := sum(elementType{'i', 8}, 3999, false); all {
		t.Error("a hash in spite of a part of an element")
	}
	raw[3000]++
	if got, _ := sum(elementType{'f', 8}, 4000, false); got == want {
		t.Error("other bytes have the same hash")
	}
}

// TestUnknownTypes: there is no scanner for a type that is not known, however it is spelled.
func TestUnknownTypes(t *testing.T) {
	for _, of := range []elementType{
		{}, {'f', 16}, {'f', 0}, {'i', -8}, {'U', 3}, {'U', 0}, {'S', 1 << 30}, {'V', 8}, {'O', 8},
	} {
		if of.isKnown() || newScanner(of, maphash.MakeSeed()) != nil {
			t.Errorf("%c%d is known", of.kind, of.size)
		}
	}
}

// FuzzFacts: all bytes give the facts that follow from the definitions.
func FuzzFacts(f *testing.F) {
	for i, of := range types {
		f.Add(byte(i), uint16(3), made(of, rand.New(rand.NewPCG(1, uint64(i))), 40))
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, kind byte, part uint16, raw []byte) {
		of := types[int(kind)%len(types)]
		if len(raw) > 1<<16 {
			return
		}
		raw = raw[:len(raw)-len(raw)%of.size]
		same(t, of, raw, scan(of, raw, 1+int(part)))
	})
}

func BenchmarkScan(b *testing.B) {
	for _, of := range types {
		for name, few := range map[string]int{"many": 1 << 30, "few": 100} {
			b.Run(fmt.Sprintf("%c%d/%s", of.kind, of.size, name), func(b *testing.B) {
				raw := make([]byte, 1<<20/of.size*of.size)
				r := rand.New(rand.NewPCG(1, 1))
				for i := 0; i < len(raw); i += of.size {
					put(of, raw[i:], int64(r.IntN(few)))
				}
				s := newScanner(of, maphash.MakeSeed())
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					s.Add(raw)
				}
			})
		}
	}
}

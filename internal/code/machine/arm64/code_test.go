package arm64

import (
	"encoding/binary"
	"slices"
	"testing"

	"ipytracer/internal/code/isa"
)

// program is code at an address.
type program struct {
	at    uint64
	words []uint32
}

func (p program) bytes() (code []byte) {
	for _, w := range p.words {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

func (p program) decode(addr uint64) (in isa.Instruction, ok bool) {
	if addr < p.at || addr >= p.at+uint64(4*len(p.words)) {
		return in, false
	}
	return decode(p.bytes()[addr-p.at:], addr)
}

// TestShapesOfAStub: a stub is adrp, ldr, add and br, perhaps behind bti.
func TestShapesOfAStub(t *testing.T) {
	const (
		bti, page, load  = 0xd503245f, 0x90000010, 0xf9400a11 // adrp x16, here; ldr x17, [x16, #16]
		add, jump, other = 0x91004210, 0xd61f0220, 0xd61f0200 // add x16, x16, #16; br x17; br x16
	)
	for _, test := range []struct {
		name  string
		words []uint32
		ok    bool
	}{
		{"a stub", []uint32{page, load, add, jump}, true},
		{"with a mark", []uint32{bti, page, load, add, jump}, true},
		{"without the address", []uint32{page, load, jump}, true},
		{"to another register", []uint32{page, load, add, other}, false},
		{"without the page", []uint32{load, add, jump}, false},
		{"no jump", []uint32{page, load, add, 0xd65f03c0}, false},
		{"too long", []uint32{bti, page, load, add, 0xd503201f, 0xd503201f, jump}, false},
	} {
		p := program{0x10000, test.words}
		pointer, ok := stub(p.decode, p.at, 1)
		if ok != test.ok || ok && pointer != 0x10010 {
			t.Errorf("%s: %#x, %v", test.name, pointer, ok)
		}
	}
}

// TestPlacesThatCodeRefersTo: places that code refers to in one instruction or in two, also where one page serves
// several, a call lies between, and the address is copied.
func TestPlacesThatCodeRefersTo(t *testing.T) {
	p := program{0x10000, []uint32{
		0xb0000013, // adrp x19, 0x11000
		0xb0000000, // adrp x0, 0x11000
		0x91004001, // add x1, x0, #16
		0xf9400002, // ldr x2, [x0]
		0x97fffffc, // bl 0x10000
		0x91004001, // add x1, x0, #16: the call has lost it
		0xf9401262, // ldr x2, [x19, #32]
		0xaa1303e3, // mov x3, x19
		0xb9400061, // ldr w1, [x3]: no pointer
		0xf9400461, // ldr x1, [x3, #8]
		0x54000040, // b.eq 0x10030
		0x58000040, // ldr x0, 0x10034
		0x10000041, // adr x1, 0x10038
		0x8b010273, // add x19, x19, x1
		0xf9401262, // ldr x2, [x19, #32]: another address
		0x14000002, // b 0x10044
	}}
	want := []isa.Reference{
		{At: 0x10008, To: 0x11010, Kind: isa.Takes}, {At: 0x1000c, To: 0x11000, Kind: isa.Loads},
		{At: 0x10010, To: 0x10000, Kind: isa.Calls}, {At: 0x10018, To: 0x11020, Kind: isa.Loads},
		{At: 0x10024, To: 0x11008, Kind: isa.Loads}, {At: 0x10028, To: 0x10030, Kind: isa.Branches},
		{At: 0x1002c, To: 0x10034, Kind: isa.Loads}, {At: 0x10030, To: 0x10038, Kind: isa.Takes},
		{At: 0x1003c, To: 0x10044, Kind: isa.Calls},
	}
	for skip := range 4 {
		var got []isa.Reference
		// A segment may begin anywhere: instructions lie at multiples of four.
		code := append(make([]byte, skip), p.bytes()...)
		scan(p.at-uint64(skip), code, func(r isa.Reference) bool {
			got = append(got, r)
			return true
		})
		if !slices.Equal(got, want) {
			t.Errorf("%#x\nnot %#x", got, want)
		}
	}
	n := 0
	scan(p.at, p.bytes(), func(isa.Reference) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("%d references, though the second was the last wanted", n)
	}
}

// TestNoProbeBetweenExclusives: between a load and a store that are to be one no instruction takes a probe.
func TestNoProbeBetweenExclusives(t *testing.T) {
	p := program{0x10000, []uint32{
		0xd503201f, // nop
		0x885ffc02, // ldaxr w2, [x0]
		0x6b01005f, // cmp w2, w1
		0x54000061, // b.ne 0x10018
		0x88037c04, // stxr w3, w4, [x0]
		0x35ffff83, // cbnz w3, 0x10004
		0xd65f03c0, // ret
	}}
	want := []bool{false, false, true, true, true, false, false}
	for i, unbroken := range want {
		if got := exclusive(p.decode, p.at+uint64(4*i)); got != unbroken {
			t.Errorf("instruction %d: %v", i, got)
		}
	}
}

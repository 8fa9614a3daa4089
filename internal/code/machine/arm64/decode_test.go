package arm64

import (
	"encoding/binary"
	"testing"

	"ipytracer/internal/code/isa"
	"ipytracer/internal/hostile"
)

// decodings are what is known of an instruction of each sort, at address 0x10000, see describe.
var decodings = []struct {
	text string
	word word
	want string
}{
	{"b #0x1000", 0x14000400, "jump, to 0x11000, cheap"},
	{"bl #-4", 0x97ffffff, "call, to 0xfffc, cheap"},
	{"cbz x1, #8", 0xb4000041, "branch, to 0x10008, x1:8, 0, cheap, relation 5"},
	{"cbnz w2, #-8", 0x35ffffc2, "branch, to 0xfff8, x2:4, 0, cheap, relation 6"},
	{"tbz x3, #63, #12", 0xb6f80063, "branch, to 0x1000c, x3:8, cheap"},
	{"b.hi #16", 0x54000088, "branch, to 0x10010, cheap, relation 1"},
	{"b.eq #16", 0x54000080, "branch, to 0x10010, cheap, relation 5"},
	{"br x16", 0xd61f0200, "jump, x16:8, cheap"},
	{"blr x8", 0xd63f0100, "call, x8:8, cheap"},
	{"ret", 0xd65f03c0, "return, cheap"},
	{"ret x1", 0xd65f0020, "jump, x1:8, cheap"},
	{"retaa", 0xd65f0bff, "return, refused"},
	{"braaz x1", 0xd61f083f, "jump, x1:8, refused"},
	{"blraa x1, x2", 0xd73f0822, "call, x1:8, refused"},
	{"svc #0", 0xd4000001, "system call, refused"},
	{"brk #1", 0xd4200020, "trap, refused"},
	{"hvc #0", 0xd4000002, "unknown"},
	{"nop", 0xd503201f, "nop"},
	{"yield", 0xd503203f, "nop, refused"},
	{"bti c", 0xd503245f, "nop, mark"},
	{"paciasp", 0xd503233f, "other, writes x30"},
	{"autiasp", 0xd50323bf, "other, refused, writes x30"},
	{"xpaclri", 0xd50320ff, "other, writes x30"},
	{"mrs x0, TPIDR_EL0", 0xd53bd040, "other, writes x0"},
	{"mrs x0, DAIF", 0xd53b4220, "other, refused, writes x0"},
	{"msr TPIDR_EL0, x0", 0xd51bd040, "other, refused"},
	{"msr NZCV, x0", 0xd51b4200, "other, refused, flags lost"},
	{"dmb ish", 0xd5033bbf, "other"},
	{"dc cvac, x0", 0xd50b7a20, "other, [x0+0]:0"},
	{"adr x0, #8", 0x10000040, "address, x0:8, at 0x10008, cheap, writes x0"},
	{"adrp x0, #0x2000", 0xd0000000, "address, x0:8, at 0x12000, cheap, writes x0"},
	{"add x0, x0, #24", 0x91006000, "address, x0:8, [x0+24]:0, writes x0"},
	{"add x29, sp, #16", 0x910043fd, "address, x29:8, [sp+16]:0, writes x29, frame at stack+16"},
	{"mov x29, sp", 0x910003fd, "move, x29:8, sp:8, writes x29, frame at stack+0"},
	{"mov x0, sp", 0x910003e0, "move, x0:8, sp:8, writes x0"},
	{"sub sp, sp, #32", 0xd10083ff, "other, sp:8, -32, writes sp, pushes 32"},
	{"add sp, sp, #1, lsl #12", 0x914007ff, "other, sp:8, 4096, writes sp, pushes -4096"},
	{"mov sp, x29", 0x910003bf, "other, sp:8, 0, writes sp, stack at frame+0"},
	{"sub sp, x29, #16", 0xd10043bf, "other, sp:8, -16, writes sp, stack at frame-16"},
	{"sub sp, sp, x1", 0xcb2163ff, "other, sp:8, sp:8, x1:8, writes sp, stack lost"},
	{"add w0, w0, #1", 0x11000400, "other, x0:4, x0:4, writes x0"},
	{"add x0, x1, x2", 0x8b020020, "other, x0:8, x1:8, x2:8, writes x0"},
	{"mov x0, x1", 0xaa0103e0, "move, x0:8, x1:8, writes x0"},
	{"mov w0, w1", 0x2a0103e0, "move, x0:4, x1:4, writes x0"},
	{"mov x0, xzr", 0xaa1f03e0, "clear, x0:8, writes x0"},
	{"mov x0, #65536", 0xd2a00020, "move, x0:8, 65536, writes x0"},
	{"mov x0, #-1", 0x92800000, "move, x0:8, -1, writes x0"},
	{"movk w0, #5, lsl #16", 0x72a000a0, "insert, x0:4, 327680, 4294901760, writes x0"},
	{"mov x0, #0x5555555555555555", 0xb200f3e0, "move, x0:8, 6148914691236517205, writes x0"},
	{"orr x0, x1, #0xff", 0xb2401c20, "other, x0:8, x1:8, writes x0"},
	{"and sp, x0, #-16", 0x927cec1f, "other, sp:8, x0:8, writes sp, stack lost"},
	{"cmp x1, #1023", 0xf10ffc3f, "compare, x1:8, 1023"},
	{"cmp x1, x2", 0xeb02003f, "compare, x1:8, x2:8"},
	{"subs x0, x1, x2", 0xeb020020, "other, x0:8, x1:8, x2:8, writes x0, flags lost"},
	{"cmn w0, #2", 0x3100081f, "compare, x0:4, -2"},
	{"cmn w0, #0", 0x3100001f, "compare, x0:4, elsewhere"},
	{"tst x1, x1", 0xea01003f, "test, x1:8, x1:8"},
	{"tst w0, #1", 0x7200001f, "test, x0:4, 1"},
	{"ccmp x1, #0, #4, ls", 0xfa409824, "compare if, x1:8, 0, relation 4, else 0x38"},
	{"ccmn x0, #1, #4, eq", 0xba410804, "compare if, x0:8, -1, relation 5, else 0x38"},
	{"csel x0, x1, x2, eq", 0x9a820020, "other, x0:8, x1:8, x2:8, writes x0"},
	{"mul x0, x1, x2", 0x9b027c20, "multiply, x0:8, x1:8, x2:8, writes x0"},
	{"madd x0, x1, x2, x3", 0x9b020c20, "other, x0:8, x1:8, x2:8, x3:8, writes x0"},
	{"umulh x2, x0, x1", 0x9bc17c02, "other, x2:8, x0:8, x1:8, 0, writes x2"},
	{"udiv x0, x1, x2", 0x9ac20820, "other, x0:8, x1:8, x2:8, writes x0"},
	{"bfxil x0, x1, #0, #8", 0xb3401c20, "other, x0:8, x1:8, x0:8, writes x0"},
	{"stp x29, x30, [sp, #-32]!", 0xa9be7bfd, "pair, [sp-32]:8, x29:8, [sp-24]:8, x30:8, and sp, pushes 32"},
	{"ldp x29, x30, [sp], #32", 0xa8c27bfd, "pair, x29:8, [sp+0]:8, x30:8, [sp+8]:8, writes x29, and x30, " +
		"and sp, pushes -32, frame lost"},
	{"stp x19, x20, [sp, #16]", 0xa90153f3, "pair, [sp+16]:8, x19:8, [sp+24]:8, x20:8"},
	{"stp xzr, xzr, [sp]", 0xa9007fff, "pair, [sp+0]:8, 0, [sp+8]:8, 0"},
	{"ldp w0, w1, [x2]", 0x29400440, "other, elsewhere, [x2+0]:4, writes x0, and x1"},
	{"stp q0, q1, [sp, #32]", 0xad0107e0, "other, [sp+32]:32"},
	{"ldr x0, [x1, #8]", 0xf9400420, "move, x0:8, [x1+8]:8, writes x0"},
	{"ldr x0, [x1, x2, lsl #3]", 0xf8627820, "move, x0:8, [x1+0+x2]:8, writes x0"},
	{"ldr w0, [x1]", 0xb9400020, "move, x0:4, [x1+0]:4, writes x0"},
	{"ldrsw x0, [x1]", 0xb9800020, "other, x0:8, [x1+0]:4, writes x0"},
	{"ldrb w0, [x1], #1", 0x38401420, "other, x0:4, [x1+0]:1, writes x0, and x1"},
	{"strb w0, [x1]", 0x39000020, "move, [x1+0]:1, x0:1"},
	{"str x0, [sp, #-16]!", 0xf81f0fe0, "move, [sp-16]:8, x0:8, and sp, pushes 16"},
	{"ldr x30, [sp], #16", 0xf84107fe, "move, x30:8, [sp+0]:8, writes x30, and sp, pushes -16"},
	{"str xzr, [sp, #8]", 0xf90007ff, "move, [sp+8]:8, 0"},
	{"str q0, [sp]", 0x3d8003e0, "other, [sp+0]:16"},
	{"ldr x0, #8", 0x58000040, "move, x0:8, at 0x10008, refused, writes x0"},
	{"ldr q0, #8", 0x9c000040, "other, elsewhere, at 0x10008, refused"},
	{"ldxr w1, [x0]", 0x885f7c01, "other, [x0+0]:4, refused, writes x1, exclusive 1"},
	{"stxr w2, w1, [x0]", 0x88027c01, "other, [x0+0]:4, refused, writes x2, exclusive 2"},
	{"ldaxp x0, x1, [x2]", 0xc87f8440, "other, [x2+0]:8, refused, writes x0, and x1, exclusive 1"},
	{"ldar x0, [x1]", 0xc8dffc20, "move, x0:8, [x1+0]:8, writes x0"},
	{"stlr x0, [x1]", 0xc89ffc20, "move, [x1+0]:8, x0:8"},
	{"cas x0, x1, [x2]", 0xc8a07c41, "other, [x2+0]:8, writes x0"},
	{"casp x0, x1, x2, x3, [x4]", 0x48207c82, "other, [x4+0]:16, refused, writes x0, and x1"},
	{"ldadd x0, x1, [x2]", 0xf8200041, "other, [x2+0]:8, writes x1"},
	{"swp x0, x1, [x2]", 0xf8208041, "other, [x2+0]:8, writes x1"},
	{"ldaprb w0, [x1]", 0x38bfc020, "other, [x1+0]:1, writes x0"},
	{"ldraa x0, [x1]", 0xf8200420, "other, writes x0"},
	{"prfm pldl1keep, [x0]", 0xf9800000, "nop"},
	{"ld1 {v0.16b}, [x0], #16", 0x4cdf7000, "other, elsewhere, [x0+0]:0, and x0"},
	{"st1 {v0.16b}, [sp]", 0x4c0073e0, "other, [sp+0]:0"},
	{"fmov x0, d0", 0x9e660000, "other, x0:8, writes x0, flags lost"},
	{"fmov d0, x0", 0x9e670000, "other, elsewhere, flags lost"},
	{"fcvtzs x0, d0", 0x9e780000, "other, x0:8, writes x0, flags lost"},
	{"scvtf d0, x0", 0x9e620000, "other, elsewhere, flags lost"},
	{"umov w0, v0.b[1]", 0x0e033c00, "other, x0:8, writes x0, flags lost"},
	{"fcmp d0, d1", 0x1e612000, "other, elsewhere, flags lost"},
	{"fadd d0, d0, d1", 0x1e612800, "other, elsewhere, flags lost"},
	{"addvl sp, sp, #-1", 0x043f57ff, "other, writes anything, stack lost, frame lost"},
	{"ld1d {z0.d}, p0/z, [x0]", 0xa5e0a000, "other, writes anything, frame lost"},
	{"irg sp, sp", 0x9adf13ff, "other, 0, 0, 0, writes sp, stack lost"},
	{"stg sp, [sp], #16", 0xd92017ff, "other, writes anything, stack lost, frame lost"},
	{"cpyfp [x0]!, [x0]!, x2!", 0x19000440, "other, refused, writes anything, frame lost"},
	{"paciasppc", 0xdac1a3fe, "other, x30:8, 0, refused, writes x30"},
	{"bc.eq #16", 0x54000090, "branch, to 0x10010, refused, relation 5"},
	{"udf #0", 0x00000000, "trap"},
	{"nothing", 0x03ffffff, "unknown"},
	{"dc zva, x0", 0xd50b7420, "other, [x0+0]:0"},
}

func TestDecode(t *testing.T) {
	for _, test := range decodings {
		if got := describe(one(test.word, 0x10000)); got != test.want {
			t.Errorf("%s:\n   %s\nnot %s", test.text, got, test.want)
		}
	}
	if _, ok := decode([]byte{0x1f, 0x20, 0x03}, 0); ok {
		t.Error("an instruction of three bytes")
	}
}

// FuzzDecode: no word makes anything panic, none is both emulated and refused, and registers are ones that there are.
func FuzzDecode(f *testing.F) {
	for _, test := range decodings {
		f.Add(uint32(test.word), uint64(0x10000))
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, w uint32, addr uint64) {
		in, ok := one(word(w), addr)
		if in.Emulated && in.Refused || !ok && !in.Refused || in.Len != size {
			t.Errorf("%08x: emulated %v, refused %v, known %v", w, in.Emulated, in.Refused, ok)
		}
		for i := range in.Operands {
			if o := &in.Operands[i]; o.Base.Number() >= isa.MaxRegisters || o.Index.Number() >= isa.MaxRegisters {
				t.Errorf("%08x: an operand in %v and %v", w, o.Base, o.Index)
			}
		}
		scan(addr, binary.LittleEndian.AppendUint32(nil, w), func(isa.Reference) bool { return true })
	})
}

package arm64

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

	"ipytracer/internal/code/isa"
)

// one decodes an instruction at an address.
func one(w word, addr uint64) (isa.Instruction, bool) {
	return decode(binary.LittleEndian.AppendUint32(nil, uint32(w)), addr)
}

// TestReference: of random words that Go's disassembler knows, the kinds, the targets and the registers that are
// written are those that it shows. It knows ARMv8.0.
func TestReference(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	known, failed := 0, 0
	for range 2_000_000 {
		w := word(random.Uint32())
		inst, err := arm64asm.Decode(binary.LittleEndian.AppendUint32(nil, uint32(w)))
		if err != nil {
			continue
		}
		known++
		if complaint := compare(w, inst); complaint != "" {
			if failed++; failed < 30 {
				t.Errorf("%08x %v: %s", uint32(w), inst, complaint)
			}
		}
	}
	if known < 500_000 {
		t.Errorf("only %d words were known", known)
	}
}

// compare returns how our decoding differs from the reference.
func compare(w word, inst arm64asm.Inst) string {
	const addr = 0x1234567000
	in, ok := one(w, addr)
	name := inst.Op.String()
	if !ok && !strings.HasPrefix(name, "HVC") && !strings.HasPrefix(name, "SMC") && !strings.HasPrefix(name, "DCPS") &&
		name != "ERET" && name != "DRPS" {
		return "not decoded"
	}
	if kind, ok := kinds[inst.Op]; ok && in.Kind != kind {
		return "another kind"
	}
	for _, arg := range inst.Args {
		if to, ok := arg.(arm64asm.PCRel); ok {
			return compareTarget(&in, inst.Op, addr, int64(to))
		}
	}
	if stores[inst.Op] || strings.HasPrefix(name, "ST") || kinds[inst.Op] != 0 || !ok {
		if in.Writes != isa.None && !strings.HasPrefix(name, "STX") && !strings.HasPrefix(name, "STLX") {
			return "a register is written"
		}
		return ""
	}
	if to, ok := general64(inst.Args[0]); ok && in.Plain && in.Writes != to && in.Stack == isa.StackKept {
		return "another register is written"
	}
	return ""
}

func compareTarget(in *isa.Instruction, op arm64asm.Op, addr uint64, distance int64) string {
	to, ok := in.Target()
	switch op {
	case arm64asm.ADR, arm64asm.ADRP, arm64asm.LDR, arm64asm.LDRSW, arm64asm.PRFM:
		to, ok = uint64(in.Operands[1].Value), in.Operands[1].Kind == isa.AtAddress
		if in.Kind == isa.Nop {
			return "" // a prefetch
		}
	}
	if op == arm64asm.ADRP {
		addr &^= 0xfff
	}
	if !ok || to != addr+uint64(distance) {
		return "another place"
	}
	return ""
}

var kinds = map[arm64asm.Op]isa.Kind{
	arm64asm.BL: isa.Call, arm64asm.BLR: isa.Call, arm64asm.BR: isa.Jump, arm64asm.CBZ: isa.Branch,
	arm64asm.CBNZ: isa.Branch, arm64asm.TBZ: isa.Branch, arm64asm.TBNZ: isa.Branch, arm64asm.CMP: isa.Compare,
	arm64asm.CMN: isa.Compare, arm64asm.TST: isa.Test, arm64asm.CCMP: isa.CompareIf, arm64asm.CCMN: isa.CompareIf,
	arm64asm.SVC: isa.SystemCall, arm64asm.BRK: isa.Trap, arm64asm.HLT: isa.Trap,
	arm64asm.ADR: isa.Address, arm64asm.ADRP: isa.Address,
}

// stores are other instructions whose first operand is read.
var stores = map[arm64asm.Op]bool{
	arm64asm.B: true, arm64asm.RET: true, arm64asm.MSR: true, arm64asm.SYS: true, arm64asm.HINT: true,
	arm64asm.PRFM: true, arm64asm.PRFUM: true, arm64asm.CMN: true, arm64asm.DC: true, arm64asm.IC: true,
	arm64asm.AT: true, arm64asm.TLBI: true,
}

// general64 returns the general register that an operand is.
func general64(arg arm64asm.Arg) (isa.Register, bool) {
	switch r := arg.(type) {
	case arm64asm.Reg:
		switch {
		case r <= arm64asm.W30:
			return isa.Numbered(int(r - arm64asm.W0)), true
		case r >= arm64asm.X0 && r <= arm64asm.X30:
			return isa.Numbered(int(r - arm64asm.X0)), true
		}
	case arm64asm.RegSP:
		if r := arm64asm.Reg(r); r != arm64asm.SP && r != arm64asm.WSP {
			return general64(r)
		}
	}
	return isa.None, false
}

package machine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/internal/code/isa"
	"ipytracer/internal/code/machine/arm64"
)

// armProcessor runs code of arm64 without knowing values, as processor does that of x86-64. It takes instructions from
// the decoder, which has tests of its own.
type armProcessor struct {
	rand    *rand.Rand
	code    *Text
	sites   []ReturnSite
	regs    [isa.MaxRegisters]uint64 // the stack pointer is relative to the entry
	memory  map[int64]uint64
	fresh   uint64
	escaped int64

	hits   int
	result uint64
}

const stackNumber = 31

func (m *armProcessor) new() uint64 { m.fresh++; return m.fresh << 32 }

func (m *armProcessor) at(o *isa.Operand) int64 { return int64(m.regs[o.Base.Number()]) + o.Value }

// read returns the value of an operand.
func (m *armProcessor) read(o *isa.Operand) uint64 {
	switch {
	case o.Kind == isa.Constant && o.Value == 0:
		return 0
	case o.Whole():
		return m.regs[o.Base.Number()]
	case o.Kind == isa.InMemory && o.Base.Number() == stackNumber && o.Width == isa.Word:
		at := m.at(o)
		if _, ok := m.memory[at]; !ok {
			m.memory[at] = m.new()
		}
		return m.memory[at]
	}
	return m.new()
}

// write stores a value.
func (m *armProcessor) write(o *isa.Operand, v uint64) {
	switch {
	case o.Kind == isa.InRegister:
		m.regs[o.Base.Number()] = v
	case o.Kind == isa.InMemory && o.Base.Number() == stackNumber:
		at := m.at(o)
		if o.Width == isa.Word {
			m.memory[at] = v
			return
		}
		for word := at &^ 7; word < at+int64(o.Width); word += 8 { // a part of a word, or several
			m.memory[word] = m.new()
		}
	}
}

func (m *armProcessor) step(in *isa.Instruction) {
	first, third := m.read(&in.Operands[1]), m.read(&in.Operands[3])
	for r := range in.Also.All {
		if r.Number() != stackNumber {
			m.regs[r.Number()] = m.new()
		}
	}
	switch in.Kind {
	case isa.Move:
		m.write(&in.Operands[0], first)
	case isa.Pair:
		m.write(&in.Operands[0], first)
		m.write(&in.Operands[2], third)
	case isa.Clear:
		m.write(&in.Operands[0], 0)
	case isa.Address:
		m.escaped = min(m.escaped, m.at(&in.Operands[1]))
		m.write(&in.Operands[0], m.new())
	case isa.Call:
		m.call()
	case isa.Other:
		m.write(&in.Operands[0], m.new())
	}
	if in.Stack == isa.StackMoves {
		m.regs[stackNumber] -= uint64(in.By)
	}
}

// call overwrites what a called function may overwrite.
func (m *armProcessor) call() {
	for r := range arm64.Architecture.Clobbered.All {
		m.regs[r.Number()] = m.new()
	}
	for at := range m.memory {
		if at < int64(m.regs[stackNumber]) || at >= m.escaped && at < untouched {
			m.memory[at] = m.new()
		}
	}
}

// observe stands in for the probes.
func (m *armProcessor) observe(t *testing.T, addr uint64) {
	for _, s := range m.sites {
		if s.Address != addr {
			continue
		}
		m.hits++
		if at := int64(m.regs[stackNumber]) + int64(s.Pushed); at != 0 {
			t.Errorf("%#x: the entry's stack pointer is off by %d", addr, at)
		}
		m.result = 0
		if r := arm64.Architecture.Results[s.Result].Register; r != isa.None {
			m.result = m.regs[r.Number()]
		}
	}
}

// run goes one way through the code. returned is false if it did not come to a ret.
func (m *armProcessor) run(t *testing.T, addr uint64) (returned bool) {
	for range 300 {
		in, ok := m.code.decode(addr)
		if !ok {
			t.Fatalf("not code at %#x", addr)
		}
		m.observe(t, addr)
		addr = in.End()
		switch {
		case in.Kind == isa.Return:
			return true
		case in.Kind == isa.Jump || in.Kind == isa.Branch && m.rand.IntN(2) == 0:
			addr, _ = in.Target()
		case in.Kind != isa.Branch:
			m.step(&in)
		}
	}
	return false
}

// The pieces of random programs: their frame, their body, and jumps, which are aimed later.
var (
	armPrologue = []uint32{0xa9bb7bfd, 0xa90453f3, 0xf9001ff5} // stp x29, x30, [sp, #-80]!; stp x19, x20; str x21
	armEpilogue = []uint32{0xf9401ff5, 0xa94453f3, 0xa8c57bfd} // and back
	armPieces   = [][]uint32{
		{0xd503201f}, {0xf100001f}, {0xaa1f03e0}, {0xaa1f03f3}, {0x52800000}, // nop; cmp; mov x0, x19, w0 of zero
		{0xb9400260}, {0xaa0003e1}, {0xaa0103e0}, {0xaa0003f4}, {0xaa1403e0}, // ldr w0, [x19]; between x0, x1 and x20
		{0xaa0003f5}, {0xaa1503e0}, {0xaa0003f3}, {0xaa1303e0}, // between x0, x21 and x19
		{0xf9000fe0}, {0xf9400fe0}, {0xf9000be0}, {0xf9400bf3}, // x0 to the stack and back
		{0xb9001be1}, {0xb9001fe1}, {0x3d8007e0}, // parts of its words, and two at once
		{0xa9014fe0}, {0xa90103f3}, {0xa94103f3}, {0xa94153e0}, // pairs to the stack and back
		{0x9100a3e1}, {0x910043e1}, {0x94000200}, {0x94000200}, // addresses of it; calls
		{0xf81f0fe0, 0x94000200, 0xf84107e0}, {0xa9bf07e0, 0x94000200, 0xa8c107e0}, // pushed for the time of a call
		{0x8b010000}, {0x9a810000}, {0xf8408401}, // add; csel; ldr x1, [x0], #8
		{0xf9000fe0, 0x94000200, 0xf9400fe0}, {0xaa0003f4, 0x94000200, 0xaa1403e0},
	}
	armJumps = []uint32{0xb4000001, 0x35000013, 0x54000001, 0x14000000} // cbz, cbnz, b.ne, b
)

// armProgram makes a function out of random bytes. Its last instruction of each way checks a signature, or does not.
func armProgram(choice []byte, ret uint32) (words []uint32) {
	leave := append(slices.Clone(armEpilogue), ret)
	words = slices.Clone(armPrologue)
	var starts, jumps []int
	var aims []byte
	for i := 0; i+1 < len(choice) && i < 60; i += 2 {
		starts = append(starts, len(words))
		switch c := choice[i]; {
		case c >= 240:
			words = append(words, leave...)
		case c >= 190:
			jumps, aims = append(jumps, len(words)), append(aims, choice[i+1])
			words = append(words, armJumps[int(c)%len(armJumps)])
		default:
			words = append(words, armPieces[int(c)%len(armPieces)]...)
		}
	}
	starts = append(starts, len(words))
	for i, at := range jumps {
		distance := uint32(starts[int(aims[i])%len(starts)] - at)
		if words[at]>>26 == 0x14000000>>26 {
			words[at] |= distance & 0x3ffffff
		} else {
			words[at] |= distance & 0x7ffff << 5
		}
	}
	return append(words, leave...)
}

// checkArmProgram runs a program many times and compares the values at the sites with its results.
func checkArmProgram(t *testing.T, words []uint32, r *rand.Rand) (kinds map[bool]int) {
	t.Helper()
	text, _ := armFunction(t, words...)
	sites, _ := text.Returns("PyOS_setsig")
	for range 20 {
		m := &armProcessor{rand: r, code: text, sites: sites, memory: map[int64]uint64{}}
		for i := range m.regs {
			m.regs[i] = m.new()
		}
		m.regs[stackNumber] = 0
		if m.run(t, fakeBase+codeAt) && (m.hits != 1 || m.result != m.regs[0]) {
			t.Errorf("%08x: %d hits, result %#x, want %#x; sites %+v", words, m.hits, m.result, m.regs[0], sites)
			break
		}
	}
	kinds = map[bool]int{}
	for _, s := range sites {
		kinds[s.Emulated]++
	}
	return kinds
}

// TestArmReturnSitesOfPrograms compares the sites of random programs with their runs.
func TestArmReturnSitesOfPrograms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cheap, dear := 0, 0
	const programs = 2000
	for i := range programs {
		choice := make([]byte, 2+2*r.IntN(20))
		for i := range choice {
			choice[i] = byte(r.Uint32())
		}
		last := []uint32{ret, retaa}[i%2]
		kinds := checkArmProgram(t, armProgram(choice, last), r)
		cheap += min(kinds[true], 1)
		dear += min(kinds[false], 1)
		if last == ret && kinds[false] > 0 {
			t.Error("a ret is cheap")
		}
	}
	t.Logf("%d programs have an emulated site, %d one that is not", cheap, dear)
	if cheap < programs/2 || dear < programs/8 {
		t.Errorf("%d programs have an emulated site, %d one that is not, of %d", cheap, dear, programs)
	}
}

package machine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/isa"
	"ipytracer/internal/hostile"
)

// processor runs code without knowing values: everything that is not a copy is a new value. It takes either way at a
// conditional jump.
type processor struct {
	rand    *rand.Rand
	code    *Text
	sites   []ReturnSite
	regs    map[x86asm.Reg]uint64 // by family; rsp is relative to the entry
	memory  map[int64]uint64
	fresh   uint64
	escaped int64

	hits   int
	result uint64
}

// executed is an instruction, by the decoder alone and as analyses have it.
type executed struct {
	x86asm.Inst
	isa.Instruction
}

// family returns the whole register that r is, or is half of.
func family(r x86asm.Reg) x86asm.Reg {
	if r >= x86asm.EAX && r <= x86asm.R15L {
		return x86asm.RAX + r - x86asm.EAX
	}
	return r
}

const untouched = -24 // programs save three registers above; only memory below may be handed out

func (m *processor) new() uint64 { m.fresh++; return m.fresh << 32 }

func (m *processor) at(a x86asm.Mem) int64 { return int64(m.regs[a.Base]) + a.Disp }

func (m *processor) load(at int64) uint64 {
	if _, ok := m.memory[at]; !ok {
		m.memory[at] = m.new()
	}
	return m.memory[at]
}

// flags makes up flags that let a jump go one way.
func (m *processor) flags(in *executed, taken bool) uint64 {
	c, ok := in.Condition, in.HasCondition
	if !ok {
		return m.rand.Uint64()
	}
	if !taken {
		c = c.Otherwise()
	}
	return m.rand.Uint64()&^uint64(c.Mask) | uint64(c.Value)
}

// observe stands in for the probes.
func (m *processor) observe(t *testing.T, in *executed, flags uint64) {
	for _, s := range m.sites {
		if s.Address != in.Addr || !s.Condition.Holds(flags) {
			continue
		}
		m.hits++
		if at := int64(m.regs[x86asm.RSP]) + int64(s.Pushed); at != 0 {
			t.Errorf("%#x: the entry's stack pointer is off by %d", in.Addr, at)
		}
		m.result = 0
		if s.Result != Zero {
			m.result = m.regs[[]x86asm.Reg{x86asm.RAX, x86asm.RBX, x86asm.RBP, x86asm.R12,
				x86asm.R13, x86asm.R14, x86asm.R15}[s.Result]]
		}
	}
}

// run goes one way through the code. returned is false if it did not come to a ret.
func (m *processor) run(t *testing.T, addr uint64) (returned bool) {
	for range 300 {
		decoded, ok := m.code.decode(addr)
		inst, err := x86asm.Decode(m.code.from(addr), 64)
		if !ok || err != nil {
			t.Fatalf("not code at %#x", addr)
		}
		in := executed{inst, decoded}
		taken := m.rand.IntN(2) == 0
		m.observe(t, &in, m.flags(&in, taken))
		addr = in.End()
		switch {
		case in.Op == x86asm.RET:
			return true
		case in.Op == x86asm.JMP || in.Kind == isa.Branch && taken:
			addr, _ = in.Target()
		case in.Kind == isa.Branch:
		default:
			m.step(&in)
		}
	}
	return false
}

func (m *processor) step(in *executed) {
	dst, _ := in.Args[0].(x86asm.Reg)
	dst = family(dst)
	switch in.Op {
	case x86asm.NOP, x86asm.TEST:
	case x86asm.PUSH:
		m.regs[x86asm.RSP] -= 8
		m.memory[int64(m.regs[x86asm.RSP])] = m.regs[dst]
	case x86asm.POP:
		m.regs[dst] = m.load(int64(m.regs[x86asm.RSP]))
		m.regs[x86asm.RSP] += 8
	case x86asm.ADD:
		m.regs[x86asm.RSP] += uint64(in.Args[1].(x86asm.Imm))
	case x86asm.SUB:
		m.regs[x86asm.RSP] -= uint64(in.Args[1].(x86asm.Imm))
	case x86asm.XOR:
		m.regs[dst] = 0
	case x86asm.LEA:
		m.regs[dst] = m.new()
		m.escaped = min(m.escaped, m.at(in.Args[1].(x86asm.Mem)))
	case x86asm.CALL:
		m.call()
	case x86asm.MOV:
		m.move(in)
	default:
		panic(in.String())
	}
}

func (m *processor) move(in *executed) {
	v := m.new() // of part of a register, from a number, or from other memory
	switch src := in.Args[1].(type) {
	case x86asm.Reg:
		v = m.regs[src]
	case x86asm.Mem:
		if in.DataSize == 64 {
			v = m.load(m.at(src))
		}
	}
	switch dst := in.Args[0].(type) {
	case x86asm.Reg:
		r := family(dst)
		m.regs[r] = v
	case x86asm.Mem:
		m.memory[m.at(dst)] = v
	}
}

// call overwrites the places that a called function may overwrite: some registers, the stack below the stack pointer,
// and memory with an address that it was given.
func (m *processor) call() {
	for _, r := range []x86asm.Reg{x86asm.RAX, x86asm.RCX, x86asm.RDX, x86asm.RSI, x86asm.RDI} {
		m.regs[r] = m.new()
	}
	for at := range m.memory {
		if at < int64(m.regs[x86asm.RSP]) || at >= m.escaped && at < untouched {
			m.memory[at] = m.new()
		}
	}
}

// The pieces of random programs: their frame, their body and their ends.
var (
	prologue = []byte{0x53, 0x55, 0x41, 0x54, 0x48, 0x83, 0xec, 0x20}
	epilogue = []byte{0x48, 0x83, 0xc4, 0x20, 0x41, 0x5c, 0x5d, 0x5b, 0xc3}
	pieces   = [][]byte{
		{0x90}, {0x48, 0x85, 0xc0}, {0x31, 0xc0}, {0x31, 0xdb}, {0x8b, 0x03}, {0x48, 0x89, 0xc1}, {0x48, 0x89, 0xc8},
		{0x48, 0x89, 0xd8}, {0x48, 0x89, 0xc3}, {0x48, 0x89, 0xc5}, {0x48, 0x89, 0xe8}, {0x49, 0x89, 0xc4},
		{0x4c, 0x89, 0xe0},
		{0x48, 0x89, 0x44, 0x24, 8}, {0x48, 0x8b, 0x44, 0x24, 8}, {0x48, 0x89, 0x04, 0x24}, {0x48, 0x8b, 0x1c, 0x24},
		{0xc7, 0x44, 0x24, 8, 1, 0, 0, 0}, {0x48, 0x8d, 0x7c, 0x24, 16}, {0x48, 0x8d, 0x3c, 0x24}, {0xe8, 0, 0, 0, 0},
		{0xe8, 0, 0, 0, 0}, {0x53, 0x5b},
		{0x53, 0xe8, 0, 0, 0, 0, 0x58},
		spilled(8, 0xe8, 0, 0, 0, 0), spilled(8, 0xe8, 0, 0, 0, 0), spilled(8, 0xc7, 0x44, 0x24, 12, 1, 0, 0, 0),
		spilled(0xf8, 0xe8, 0, 0, 0, 0),
		spilled(0xf8, 0x53, 0x5b), spilled(8, 0x48, 0x8d, 0x7c, 0x24, 16, 0xe8, 0, 0, 0, 0), spilled(8, 0x8b, 0x03),
	}
	jumps = [][]byte{{0x0f, 0x84}, {0x0f, 0x85}, {0x0f, 0x88}, {0x0f, 0x8f}, {0xe9}}
)

// spilled saves rax at a distance from rsp for the time of some code.
func spilled(at byte, code ...byte) []byte {
	return slices.Concat([]byte{0x90, 0x48, 0x89, 0x44, 0x24, at}, code, []byte{0x48, 0x8b, 0x44, 0x24, at})
}

// program makes a function out of random bytes.
func program(choice []byte) []byte {
	var parts [][]byte
	starts, length := []int{}, len(prologue)
	for i := 0; i+1 < len(choice) && i < 60; i += 2 {
		piece := pieces[int(choice[i])%len(pieces)]
		switch c := choice[i]; {
		case c >= 240:
			piece = epilogue
		case c >= 190:
			jump := jumps[int(c)%len(jumps)]
			piece = append(jump[:len(jump):len(jump)], 0, 0, 0, choice[i+1]) // aimed below
		}
		starts, length = append(starts, length), length+len(piece)
		parts = append(parts, piece)
	}
	starts = append(starts, length)
	for i, p := range parts {
		if len(p) >= 5 && choice[2*i] >= 190 && choice[2*i] < 240 {
			target := starts[int(choice[2*i+1])%len(starts)]
			copy(p[len(p)-4:], elftest.Word32(uint32(int32(target-starts[i]-len(p)))))
		}
	}
	return slices.Concat(prologue, slices.Concat(parts...), epilogue)
}

// checkProgram runs a program many times and compares the values at the sites with its results.
func checkProgram(t *testing.T, code []byte, r *rand.Rand) (emulated bool) {
	text := fakeFunction(t, code, nil)
	sites, _ := text.Returns("PyOS_setsig")
	for range 20 {
		m := &processor{rand: r, code: text, sites: sites, memory: make(map[int64]uint64),
			regs: make(map[x86asm.Reg]uint64)}
		for reg := x86asm.RAX; reg <= x86asm.R15; reg++ {
			m.regs[reg] = m.new()
		}
		m.regs[x86asm.RSP] = 0
		if !m.run(t, fakeBase+codeAt) {
			continue
		}
		if m.hits != 1 || m.result != m.regs[x86asm.RAX] {
			t.Errorf("% x: %d hits, result %#x, want %#x; sites %+v", code, m.hits, m.result, m.regs[x86asm.RAX], sites)
			break
		}
	}
	for _, s := range sites {
		emulated = emulated || s.Emulated
	}
	return emulated
}

// TestReturnSitesOfPrograms compares the sites of random programs with their runs.
func TestReturnSitesOfPrograms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	emulated := 0
	const programs = 2000
	for range programs {
		choice := make([]byte, 2+2*r.IntN(20))
		for i := range choice {
			choice[i] = byte(r.Uint32())
		}
		if checkProgram(t, program(choice), r) {
			emulated++
		}
	}
	if emulated < programs/4 {
		t.Errorf("%d of %d programs have an emulated site", emulated, programs)
	}
	t.Logf("%d of %d programs have an emulated site", emulated, programs)
}

// FuzzReturnSites feeds raw bytes as code: nothing may panic, and every site must be code.
func FuzzReturnSites(f *testing.F) {
	f.Add([]byte{0x53, 0x74, 2, 0x5b, 0xc3, 0x5b, 0xc3}, []byte{0xc3})
	f.Add(program([]byte{19, 0, 200, 3, 9, 0, 19, 0, 165, 1, 10, 0}), []byte{0x0f, 0x0b})
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x44, 0x25, 0xf8, 0xc9, 0xc3}, []byte{})
	hostile.Fuzz(f, 64<<20, func(t *testing.T, code, cold []byte) {
		if len(code) > coldAt-codeAt || len(cold) > publicAt-coldAt {
			return
		}
		text := fakeFunction(t, code, cold)
		sites, _ := text.Returns("PyOS_setsig")
		for _, s := range sites {
			if !s.Present() || s.Pushed < 0 || !s.Emulated && s.Pushed != 0 {
				t.Errorf("%+v", s)
			}
		}
		checkProgram(t, program(code), rand.New(rand.NewPCG(1, uint64(len(code)))))
	})
}

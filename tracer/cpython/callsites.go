package cpython

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Calls found by what they load. A compiler may have the body of an exported function in its callers: nobody then passes the function
// itself. What the body calls, and with which object, stays the same, so the calls that load the object are found in the machine
// code.

// Bounds on what is followed from a load, in instructions, and of how long the code in front of a call may be, in bytes.
const (
	maxToCall   = 24
	maxFragment = 1 << 20
)

// maxEnds bounds the calls that are probed as ends of a cell: a plain build of 3.13 has 13.
const maxEnds = 64

// Arguments of an [EndSite], in which the value is that a coroutine has returned.
const (
	FirstArgument  = 0 // rdi
	SecondArgument = 1 // rsi
)

// EndSite is where a coroutine's value is seen as it ends.
type EndSite struct {
	Site
	Argument uint8 // FirstArgument or SecondArgument
}

const (
	endSymbol  = "_PyGen_SetStopIterationValue"
	stopSymbol = "PyExc_StopIteration"
)

// makers are what the body of _PyGen_SetStopIterationValue calls with PyExc_StopIteration and the value (Objects/genobject.c): the first in
// all of 3.9 to 3.15, the second until 3.12. Later code that calls PyErr_SetObject so is sys.monitoring's (Python/instrumentation.c).
var makers = []string{"PyObject_CallOneArg", "PyErr_SetObject"}

func (b *Binary) makers() []string {
	if b.version.Minor >= 13 {
		return makers[:1]
	}
	return makers
}

// references is who refers to some of an image's symbols.
type references struct {
	loads   []uint64          // instructions that load a variable's value, or its address from the global offset table
	callers map[string]int    // calls and jumps to a function from outside it, by its name
	audits  []uint64          // those of PySys_Audit
	slots   map[uint64]string // the global offset table: which symbol each pointer is for
	stubs   map[uint64]string // the same for places in the PLT
}

// endSites returns the places of [Sites.Ends], and the function's name where there are too few of its calls and of its bodies together.
func (b *Binary) endSites(code *codeReader, refs *references) (sites []EndSite, doubted []string) {
	if entry := b.entrySite(code, endSymbol, x86asm.RDI); entry.Present() {
		sites = append(sites, EndSite{Site: entry})
	}
	fn, variable := b.image.symbols[endSymbol], b.image.symbols[stopSymbol]
	body := span{fn.value, fn.value + fn.size}
	inside, outside := map[string]bool{}, map[uint64]string{}
	for _, load := range refs.loads {
		for call, to := range b.callsWith(code, refs, load, variable.value) {
			if body.contains(call) {
				inside[to] = true
			} else {
				outside[call] = to
			}
		}
	}
	for _, call := range slices.Sorted(maps.Keys(outside)) {
		if len(inside) > 0 && !inside[outside[call]] || len(sites) > maxEnds || !b.begins(code, call) {
			continue
		}
		in, _ := code.decode(call)
		site := b.site(stopSymbol, b.start(call), call, 0, in.emulated())
		sites = append(sites, EndSite{Site: site, Argument: SecondArgument})
	}
	if fn.value != 0 && refs.callers[endSymbol]+len(sites)-1 < fewestEnds {
		doubted = []string{endSymbol}
	}
	return sites, doubted
}

// fewestEnds is how many ways to _PyGen_SetStopIterationValue a build must have, called or with its body in place: 3.9 of Debian has two.
const fewestEnds = 2

// doubtful are the other functions that decide where windows begin and end. PyTraceMalloc_Track and _Untrack are none: NumPy is another
// library and can only call the exported ones.
var doubtful = []string{evalCodeSymbol, "PyOS_setsig", "Py_CompileStringObject"}

// doubted returns which of the doubtful functions nobody in the file calls. Of one that only jumps to another it says nothing.
func (b *Binary) doubted(code *codeReader, refs *references) (names []string) {
	for _, name := range doubtful {
		fn, ok := b.function(name)
		if _, thunk := thunkTarget(code, fn, nil); ok && !thunk && refs.callers[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}

// start is where the function, or split off part of one, begins that an address is in.
func (b *Binary) start(addr uint64) uint64 {
	if s, ok := b.image.fragment(addr); ok {
		return s.start
	}
	return addr
}

// begins says whether an instruction begins at an address: one is decoded after the other from the start of the function on. A probe
// anywhere else would destroy the code.
func (b *Binary) begins(code *codeReader, addr uint64) bool {
	s, ok := b.image.fragment(addr)
	if !ok || addr-s.start > maxFragment {
		return false
	}
	for at := s.start; at < addr; {
		in, ok := code.decode(at)
		if !ok {
			return false
		}
		if at = in.end(); at == addr {
			return true
		}
	}
	return s.start == addr
}

// walkState is somewhere on the way from a load, with the registers that hold the variable's value and its address there.
type walkState struct {
	addr          uint64
	value, addrOf locations
	left          int
}

// callsWith returns the calls of makers that are reached from a load with the variable's value as first argument, and which each is of.
func (b *Binary) callsWith(code *codeReader, refs *references, load, variable uint64) map[uint64]string {
	calls := map[uint64]string{}
	queue := []walkState{{addr: load, left: maxToCall}}
	for steps := 0; len(queue) > 0 && steps < 8*maxToCall; steps++ {
		s := &queue[len(queue)-1]
		in, ok := code.decode(s.addr)
		if s.left--; !ok || s.left < 0 || in.Op == x86asm.RET || in.traps() {
			queue = queue[:len(queue)-1]
			continue
		}
		target, direct := in.target()
		if in.Op == x86asm.CALL || in.Op == x86asm.JMP {
			if to := refs.called(b.image, &in); slices.Contains(b.makers(), to) && s.value&general(x86asm.RDI) != 0 {
				calls[s.addr] = to
			}
			if in.Op == x86asm.CALL || !direct {
				queue = queue[:len(queue)-1]
				continue
			}
			s.addr = target
			continue
		}
		if !in.conditional() {
			s.load(&in, refs, variable)
		}
		s.addr = in.end()
		if in.conditional() && direct && len(queue) < 8 {
			other := *s
			other.addr = target
			queue = append(queue, other)
		} else if s.value|s.addrOf == 0 {
			queue = queue[:len(queue)-1]
		}
	}
	return calls
}

// load follows what an instruction does to the registers.
func (s *walkState) load(in *instruction, refs *references, variable uint64) {
	reg, known := in.writes()
	if !known || in.Op == x86asm.XCHG {
		s.value, s.addrOf = 0, 0
		return
	}
	to := general(reg)
	value, addrOf := false, false
	if in.Op == x86asm.MOV || in.Op == x86asm.LEA {
		switch from := in.Args[1].(type) {
		case x86asm.Mem:
			at := in.end() + uint64(from.Disp)
			relative := from.Base == x86asm.RIP && from.Index == 0
			value = in.Op == x86asm.MOV && (relative && at == variable || from.Disp == 0 && from.Index == 0 && s.addrOf&general(from.Base) != 0)
			addrOf = relative && (in.Op == x86asm.LEA && at == variable || in.Op == x86asm.MOV && refs.slots[at] == stopSymbol)
		case x86asm.Reg:
			value, addrOf = s.value&general(from) != 0, s.addrOf&general(from) != 0
		}
	}
	s.value, s.addrOf = s.value&^to, s.addrOf&^to
	if value {
		s.value |= to
	}
	if addrOf {
		s.addrOf |= to
	}
}

// called returns the name of the function that a call or jump is to, where it is one that is looked for.
func (r *references) called(img *image, in *instruction) string {
	if m, ok := in.Args[0].(x86asm.Mem); ok && m.Base == x86asm.RIP && m.Index == 0 {
		return r.slots[in.end()+uint64(m.Disp)]
	}
	if target, ok := in.target(); ok {
		return r.stubs[target]
	}
	return ""
}

// refer looks through the machine code for who refers to the variable and the functions. Bytes that only look like a reference are rare
// enough for a count; whoever places a probe checks more.
func (b *Binary) refer(variable string, functions ...string) *references {
	img := b.image
	r := &references{callers: map[string]int{}, stubs: map[uint64]string{}}
	names := append([]string{variable}, functions...)
	r.slots = img.offsetTable(names)
	bodies := map[string]span{}
	for _, name := range functions {
		if fn, ok := b.function(name); ok {
			r.stubs[fn.value] = name
			bodies[name] = span{fn.value, fn.value + max(fn.size, 1)}
		}
	}
	for _, s := range img.plt {
		for at := s.start; at < s.end && s.end-s.start <= maxSymbolTable; at += 8 {
			if to, ok := img.jumpsThrough(at, r.slots); ok {
				r.stubs[at] = to
			}
		}
	}
	loaded := img.symbols[variable].value
	count := func(at uint64, name string) {
		if name != "" && !bodies[name].contains(at) && !img.inPLT(at) {
			r.callers[name]++
			if name == auditSymbol {
				r.audits = append(r.audits, at)
			}
		}
	}
	for _, s := range img.segments {
		if !s.exec || s.size > maxSegmentBytes {
			continue
		}
		data, _ := io.ReadAll(io.NewSectionReader(img.r, int64(s.offset), int64(s.size)))
		for i := 0; i+7 <= len(data); i++ {
			at := s.vaddr + uint64(i)
			relative := func(n int) uint64 {
				return at + uint64(n) + uint64(int64(int32(binary.LittleEndian.Uint32(data[i+n-4:]))))
			}
			switch c := data[i]; {
			case c == 0xe8 || c == 0xe9:
				count(at, r.stubs[relative(5)])
			case c == 0xff && (data[i+1] == 0x15 || data[i+1] == 0x25):
				count(at, r.slots[relative(6)])
			case (c == 0x48 || c == 0x4c) && (data[i+1] == 0x8b || data[i+1] == 0x8d) && data[i+2]&0xc7 == 0x05: // mov, lea of [rip + x]
				if to := relative(7); loaded != 0 && (to == loaded || r.slots[to] == variable) {
					r.loads = append(r.loads, at)
				}
			}
		}
	}
	return r
}

// jumpsThrough returns the symbol that a place in the PLT jumps to by way of the global offset table.
func (img *image) jumpsThrough(target uint64, slots map[uint64]string) (name string, ok bool) {
	code := newCodeReader(img)
	for range 2 { // endbr64, jmp [rip + x]
		in, decoded := code.decode(target)
		if !decoded {
			return "", false
		}
		if m, memory := in.Args[0].(x86asm.Mem); memory && in.Op == x86asm.JMP && m.Base == x86asm.RIP {
			name, ok = slots[in.end()+uint64(m.Disp)]
			return name, ok
		}
		target = in.end()
	}
	return "", false
}

// offsetTable returns the pointers that the dynamic linker fills in with the address of one of the symbols.
func (img *image) offsetTable(names []string) (slots map[uint64]string) {
	slots = map[uint64]string{}
	defer func() { // debug/elf promises nothing about files made to break it
		_ = recover()
	}()
	f, err := elf.NewFile(img.r)
	if err != nil || symbolsTooBig(f) {
		return slots
	}
	symbols, _ := f.DynamicSymbols()
	byValue := map[uint64]string{}
	for _, name := range names {
		if s, ok := img.symbols[name]; ok {
			byValue[s.value] = name
		}
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.FileSize > maxSymbolTable || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		data, _ := io.ReadAll(io.NewSectionReader(img.r, int64(s.Offset), int64(s.FileSize)))
		for ; len(data) >= 24; data = data[24:] {
			at, info, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])
			n := int(elf.R_SYM64(info))
			switch kind := elf.R_X86_64(elf.R_TYPE64(info)); {
			case kind == elf.R_X86_64_RELATIVE:
				if name, ok := byValue[addend]; ok {
					slots[at] = name
				}
			case (kind == elf.R_X86_64_GLOB_DAT || kind == elf.R_X86_64_JMP_SLOT) && n > 0 && n <= len(symbols):
				if slices.Contains(names, symbols[n-1].Name) {
					slots[at] = symbols[n-1].Name
				}
			}
		}
	}
	return slots
}

package cpython

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

const auditSymbol = "PySys_Audit"

// maxAudits bounds the calls of PySys_Audit that are looked at.
const maxAudits = 1 << 12

// compileCalls returns the calls PySys_Audit("compile", "yO", source, filename): Parser/peg_api.c of 3.9 and newer; 3.9 has two parsers.
// They are found by the texts they load.
func (b *Binary) compileCalls(code *codeReader, refs *references) (sites []Site) {
	if len(refs.audits) > maxAudits {
		return nil
	}
	for _, call := range refs.audits {
		start, ok := b.image.fragment(call)
		if !ok || call-start.start > maxFragment {
			continue
		}
		if event, format := b.passed(code, start.start, call); b.reads(event, "compile\x00") && b.reads(format, "yO\x00") {
			in, _ := code.decode(call)
			sites = append(sites, b.site(auditSymbol, start.start, call, 0, in.emulated()))
		}
	}
	return sites
}

// passed returns the addresses that are in rdi and rsi at a call, as far as the code in front of it says, 0 for others.
func (b *Binary) passed(code *codeReader, start, call uint64) (first, second uint64) {
	for at := start; at < call; {
		in, ok := code.decode(at)
		if !ok {
			return 0, 0
		}
		reg, known := in.writes()
		value := uint64(0)
		if in.Op == x86asm.LEA {
			if m, ok := in.Args[1].(x86asm.Mem); ok && m.Base == x86asm.RIP && m.Index == 0 {
				value = in.end() + uint64(m.Disp)
			}
		} else if imm, ok := in.Args[1].(x86asm.Imm); ok && in.Op == x86asm.MOV {
			value = uint64(imm)
		}
		switch {
		case in.Op == x86asm.CALL:
			first, second = 0, 0
		case !known || in.jumps():
		case reg == x86asm.RDI:
			first = value
		case reg == x86asm.RSI:
			second = value
		}
		if at = in.end(); at == call {
			return first, second
		}
	}
	return 0, 0
}

// reads says whether the file has a text at an address.
func (b *Binary) reads(addr uint64, text string) bool {
	got := make([]byte, len(text))
	return addr != 0 && b.image.read(addr, got) == nil && slices.Equal(got, []byte(text))
}

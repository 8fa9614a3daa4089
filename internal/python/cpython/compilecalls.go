package cpython

import "ipytracer/internal/code/machine"

const auditSymbol = "PySys_Audit"

// compileCalls returns the calls PySys_Audit("compile", "yO", source, filename): Parser/peg_api.c of 3.9 and newer; 3.9
// has two parsers. They are found by the texts they load.
func (b *Binary) compileCalls(text *machine.Text, refs *machine.References) (sites []machine.Site) {
	calls, ok := refs.Calls(auditSymbol)
	if !ok {
		return nil
	}
	for _, call := range calls {
		if event, format, ok := text.Passed(call); ok && b.reads(event, "compile\x00") && b.reads(format, "yO\x00") {
			sites = append(sites, text.At(auditSymbol, call))
		}
	}
	return sites
}

// reads reports whether the file has a text at an address.
func (b *Binary) reads(addr uint64, text string) bool {
	got := make([]byte, len(text))
	return addr != 0 && b.image.Read(addr, got) == nil && string(got) == text
}

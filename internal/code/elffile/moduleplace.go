package elffile

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Place is the place of an instruction in the source.
type Place struct {
	Function string // demangled, without parameters; "" if no symbol covers it
	File     string // from DWARF, else ""
	Line     int    // from 1; 0 if not known
}

// Place returns the function and line of an instruction, as far as they are known. For a return address, vaddr must be
// the byte before it. Names are hostile text of at most maxText bytes.
func (m *Module) Place(vaddr uint64) Place {
	var out Place
	if name, ok := m.function(vaddr); ok {
		out.Function = Demangle(name)
	}
	out.File, out.Line = m.line(vaddr)
	out.File = cut(out.File)
	return out
}

// maxText is the length of the longest name that is returned, in bytes.
const maxText = 512

// cut shortens a text to maxText bytes.
func cut(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
	}
	return text
}

// Limits for demangling. The demangled text can grow exponentially with the name.
const (
	maxMangled   = 4 << 10 // bytes of a name
	maxDemangled = 14      // the binary logarithm of the bytes of the text
)

// Demangle returns the name that a C++ or Rust function has in its source, without parameters. It returns any other
// name as it is. Names longer than maxText are cut.
func Demangle(name string) (plain string) {
	defer func() {
		if recover() != nil { // the demangler is fuzzed, but not by us
			plain = cut(name)
		}
	}()
	if len(name) > maxMangled {
		return cut(name)
	}
	plain, err := demangle.ToString(name, demangle.NoParams, demangle.MaxLength(maxDemangled))
	if err != nil {
		return cut(name)
	}
	return cut(plain)
}

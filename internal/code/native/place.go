package native

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Place is where an instruction is.
type Place struct {
	Function string // demangled, without parameters; "" if no symbol covers it
	File     string // from DWARF, else ""
	Line     int    // from 1; 0 if not known
}

// Place returns the function and line of an instruction, as far as they are known. For a return address ask for the
// byte before it. Names are hostile text, at most 512 bytes.
func (m *Module) Place(vaddr uint64) Place {
	var out Place
	if name, ok := m.function(vaddr); ok {
		out.Function = Demangle(name)
	}
	out.File, out.Line = m.line(vaddr)
	out.File = cut(out.File)
	return out
}

// maxText is how many bytes of a name are handed on.
const maxText = 512

func cut(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
	}
	return text
}

// maxMangled bounds the names that are demangled: the text can grow exponentially, and is bounded itself (2^14 bytes).
const (
	maxMangled   = 4 << 10
	maxDemangled = 14
)

// Demangle returns a C++ or Rust function's name as its source has it, without parameters; any other name as it is.
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

package cpython

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// PastInput is a cell that IPython has run and stored. Its texts are hostile.
type PastInput struct {
	Number   int64  // N of In[N]
	Typed    string // _iN, without newlines at its end
	Compiled string // In[N], without newlines at its end; "" if there is none, or it is longer than 512 KiB
}

// maxNamespace bounds how many names of a namespace are looked at for _iN: a notebook has three for each cell that it
// has run.
const maxNamespace = 1 << 15

// PastInputs calls yield for the cells whose texts IPython keeps, the latest first, until yield returns false. list is
// the address of In. A cell is left out if its text changed while it was read, or is longer than 512 KiB.
func (p *Interpreter) PastInputs(list uint64, yield func(PastInput) bool) error {
	dict, err := p.moduleDict("__main__")
	if err != nil {
		return err
	}
	k, err := p.keysOf(dict)
	if err != nil {
		return err
	}
	type stored struct {
		number int64
		text   uint64
	}
	var cells []stored
	seen := 0
	err = p.scan(&k, func(e dictEntry) bool {
		if n, ok := inputNumber(p, e.key); ok {
			cells = append(cells, stored{n, e.value})
		}
		seen++
		return seen < maxNamespace
	})
	slices.SortFunc(cells, func(a, b stored) int { return cmp.Compare(b.number, a.number) })
	for _, cell := range cells {
		typed, whole := p.textPrefix(cell.text, maxTyped)
		if !whole {
			continue
		}
		compiled, whole := p.input(list, cell.number)
		if !whole {
			compiled = ""
		}
		if !yield(PastInput{cell.number, typed, compiled}) {
			break
		}
	}
	return err
}

// inputNumber returns N of a str _iN; ok is false for other objects. It reads once.
func inputNumber(p *Interpreter, obj uint64) (n int64, ok bool) {
	const longest = len("_i") + 9
	text, ok := shortText(p, obj, longest)
	if !ok {
		return 0, false
	}
	digits, ok := strings.CutPrefix(text, "_i")
	if !ok || digits == "" || digits[0] < '1' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// shortText returns an ASCII str of at most longest bytes; ok is false for other objects. It reads once.
func shortText(p *Interpreter, obj uint64, longest int) (text string, ok bool) {
	header := int(p.off.ASCIIData)
	buf := make([]byte, header+longest)
	n, _ := p.mem.read(obj, buf) // a short str may end where its mapping ends: then less comes back
	if n < header || !p.isType(binary.LittleEndian.Uint64(buf[p.off.ObjectType:]), &p.types.str) {
		return "", false
	}
	_, compact, ascii := p.off.Text(binary.LittleEndian.Uint32(buf[p.off.StrState:]))
	length := binary.LittleEndian.Uint64(buf[p.off.StrLength:])
	if !compact || !ascii || length > uint64(n-header) {
		return "", false
	}
	return string(buf[header:][:length]), true
}

package cpython

import (
	"encoding/binary"
	"fmt"
)

// maxPath bounds how many entries of sys.path are read.
const maxPath = 256

// Path returns sys.path: the folders in which the interpreter looks for modules, as it is now. Entries that are not
// strings are left out. The strings are the target's and hostile.
func (p *Interpreter) Path() ([]string, error) {
	list, err := p.Global("sys", "path")
	if err != nil {
		return nil, err
	}
	n, err := p.ListLen(list)
	if err != nil {
		return nil, fmt.Errorf("sys.path: %w", err)
	}
	// PyListObject: ob_item follows ob_size (Include/cpython/listobject.h, 3.9 to 3.15).
	items, err := p.mem.word(list + uint64(p.off.ListSize) + 8)
	if err != nil {
		return nil, fmt.Errorf("sys.path: %w", err)
	}
	pointers := make([]byte, 8*min(n, maxPath))
	if len(pointers) == 0 {
		return nil, nil
	}
	if _, err := p.mem.read(items, pointers); err != nil {
		return nil, fmt.Errorf("sys.path: %w", err)
	}
	var path []string
	for ; len(pointers) > 0; pointers = pointers[8:] {
		if s, err := p.text(binary.LittleEndian.Uint64(pointers)); err == nil {
			path = append(path, s)
		}
	}
	return path, nil
}

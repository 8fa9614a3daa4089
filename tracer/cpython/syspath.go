package cpython

import "fmt"

// maxPath bounds how many entries of sys.path are read.
const maxPath = 256

// Path returns sys.path: where the interpreter looks for modules, as it is now. Entries that are not strings are left
// out. The strings are the target's and hostile.
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
	var path []string
	for i := range min(n, maxPath) {
		item, err := p.mem.word(items + 8*uint64(i))
		if err != nil {
			return nil, fmt.Errorf("sys.path: %w", err)
		}
		if s, err := p.text(item); err == nil {
			path = append(path, s)
		}
	}
	return path, nil
}

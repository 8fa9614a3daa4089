package cpython

import (
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/machine"
)

// typeDestructor is the offset of tp_dealloc in a type object: behind ob_refcnt, ob_type, ob_size, tp_name,
// tp_basicsize and tp_itemsize (Include/cpython/object.h, 3.9 to 3.15); without the GIL the header is larger.
const typeDestructor = 6 * 8

// freeingSite finds where every object of a type ends: the function that the type names as its tp_dealloc, which has no
// name of its own in the file. named is the type's symbol.
func (b *Binary) freeingSite(text *machine.Text, named string) machine.Site {
	t, ok := b.image.Symbols[named]
	if !ok || t.Function {
		return machine.Site{}
	}
	at := t.Value + typeDestructor
	if b.FreeThreaded() {
		at += headerGrowth
	}
	entry, ok := b.image.RelativePointee(at)
	if !ok || !b.image.Executable(entry) {
		return machine.Site{}
	}
	fn := elffile.Symbol{Value: entry, Function: true}
	if body, ok := b.image.Fragment(entry); ok && body.Start == entry {
		fn.Size = body.End - body.Start
	}
	return text.EntryIn(named+".tp_dealloc", fn, 1)
}

package walk

import "ipytracer/internal/python/holders/objects"

// visitRecords follows the references in an array's records.
func (v Visits) visitRecords(n int32, addr, data uint64) {
	r := objects.RecordsOf(&v.Sizer, addr)
	if len(r.Fields) == 0 {
		return
	}
	for i := range v.ArrayElements(addr) {
		for _, field := range r.Fields {
			v.Follow(n, v.Mem.Word(data+i*r.Size+field), Label{LabelElement, 0})
		}
		if v.Done() {
			return
		}
	}
}

// visitElement follows the attributes and children of an element of xml.etree, and its text and tail where these are
// lists of texts.
func (v Visits) visitElement(n int32, addr uint64) {
	for _, at := range []uint64{objects.ElementText, objects.ElementTail} {
		if word := v.Mem.Word(addr + at); word&1 != 0 {
			v.Follow(n, word&^1, Label{LabelWord, at})
		}
	}
	extra := v.Mem.Word(addr + objects.ElementExtra)
	if extra < objects.LowestAddress || extra&7 != 0 {
		return
	}
	v.Follow(n, v.Mem.Word(extra+objects.ExtraAttributes), Label{})
	count := min(v.Mem.Word(extra+objects.ExtraLength), v.Mem.Word(extra+objects.ExtraRoom))
	v.visitItems(n, v.Mem.Word(extra+objects.ExtraChildren), count, LabelIndex)
}

// visitArray looks into a NumPy array.
func (v Visits) visitArray(n int32, addr uint64) {
	data := v.Mem.Word(addr + objects.ArrayData)
	if v.Arrays != nil {
		v.Arrays.Array(n, addr, data)
	}
	v.withHidden(v.ObjectType(addr), objects.ArrayData, func() {
		v.Follow(n, v.Mem.Word(addr+objects.ArrayBase), fixedLabel(fixedBase))
		v.visitItems(n, data, v.ArrayObjects(addr), LabelFlat)
		v.visitRecords(n, addr, data)
	})
}

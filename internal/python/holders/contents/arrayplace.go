package contents

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// place is where the elements of an array are: a number of rows, each of some bytes without a gap, with the same
// distance from each row to the next.
type place struct {
	typ      elementType
	elements int64
	base     uint64
	row      uint64 // bytes
	step     uint64 // from one row to the next; 0 for one row
	rows     uint64
	layout   string
	checks   []spot
}

// spot has bytes that say where the elements are. They must be unchanged after the elements were read.
type spot struct {
	addr  uint64
	bytes []byte
}

// span is the bytes from the first element to the last.
func (p *place) span() uint64 { return p.step*(p.rows-1) + p.row }

// axis has the length of an axis of an array, and the bytes from one element to the next.
type axis struct{ length, stride int64 }

// placer finds the places of elements. It reads everything anew, because what was read before may be out of date.
type placer struct {
	*objects.Sizer
	touched *objects.ResidentMemory
}

// fresh reads bytes that are to be checked later, at most 512.
func (a placer) fresh(p *place, addr uint64, size int) []byte {
	raw := make([]byte, size)
	if size > 512 || !a.touched.Read(raw, addr) {
		return nil
	}
	p.checks = append(p.checks, spot{addr, raw})
	return raw
}

// unchanged reports whether the elements are still at the place.
func (a placer) unchanged(p *place) bool {
	for _, c := range p.checks {
		now := make([]byte, len(c.bytes))
		if !a.touched.Read(now, c.addr) || !bytes.Equal(now, c.bytes) {
			return false
		}
	}
	return true
}

// Array finds the elements of a NumPy array, or of one row of two axes: see [objects.ArrayData] for the layout. ok is
// false for unknown types, and for everything that does not fit into the process's memory.
func (a placer) Array(addr uint64, row int64) (p place, ok bool) {
	const typeAt, flagsEnd, axesAt, most = 8, 68, 24, 32
	head := a.fresh(&p, addr+typeAt, flagsEnd-typeAt)
	if head == nil {
		return p, false
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at-typeAt:]) }
	axes := int32(word(axesAt))
	if axes < 1 || axes > most || !a.element(&p, word(objects.ArrayDescr)) {
		return p, false
	}
	lengths, steps := a.fresh(&p, word(objects.ArrayLengths), int(8*axes)), a.fresh(&p, word(objects.ArrayStrides),
		int(8*axes))
	if lengths == nil || steps == nil {
		return p, false
	}
	all := make([]axis, axes)
	for i := range all {
		all[i] = axis{int64(binary.LittleEndian.Uint64(lengths[8*i:])), int64(binary.LittleEndian.Uint64(steps[8*i:]))}
	}
	p.base = word(objects.ArrayData)
	if row != objects.Whole {
		if len(all) != 2 || row >= all[0].length || all[0].stride > objects.UserSpace ||
			all[0].stride < -objects.UserSpace {
			return p, false
		}
		p.base += uint64(row * all[0].stride)
		all = all[1:]
	}
	return p, p.lay(all) && a.fits(&p)
}

// fits reports whether the place is in one mapping.
func (a placer) fits(p *place) bool {
	_, ok := a.Sizes.Buffer(p.base, p.span())
	return ok && p.base >= objects.LowestAddress && p.base < objects.UserSpace
}

// element reads the type of the elements: see [objects.Sizer.DType] for the layout.
func (a placer) element(p *place, descr uint64) bool {
	const kind, end = 24, 48
	raw := a.fresh(p, descr+kind, end-kind)
	name, size, ok := a.DType(descr)
	if raw == nil || !ok || name == "" || raw[2] == '>' {
		return false
	}
	p.typ = elementType{kind: raw[0], size: int(size)}
	return p.typ.isKnown() || p.typ == elementType{kind: objects.KindObject, size: 8}
}

// lay finds the rows that the axes of an array make. It returns false where elements overlap, or where there is more
// than one kind of gap.
func (p *place) lay(axes []axis) bool {
	item := uint64(p.typ.size)
	count, backwards := uint64(1), false
	sorted := make([]axis, 0, len(axes))
	for _, one := range axes {
		size := max(one.stride, -one.stride)
		if one.length <= 0 || one.length >= objects.UserSpace || size < 0 || size >= objects.UserSpace ||
			count > objects.UserSpace/uint64(one.length) || size > 0 && one.length > objects.UserSpace/size {
			return false
		}
		count *= uint64(one.length)
		if one.length == 1 {
			continue
		}
		if one.stride < 0 {
			p.base -= uint64(one.length-1) * uint64(size)
			backwards = true
		}
		sorted = append(sorted, axis{one.length, size})
	}
	p.elements = int64(count)
	falling := func(x, y axis) int { return cmp.Compare(y.stride, x.stride) }
	rising := slices.IsSortedFunc(sorted, func(x, y axis) int { return falling(y, x) })
	inOrder := slices.IsSortedFunc(sorted, falling)
	slices.SortFunc(sorted, falling)
	if !p.merge(sorted, item) {
		return false
	}
	switch {
	case p.rows > 1 || backwards:
		p.layout = "strided"
	case len(sorted) < 2:
	case inOrder:
		p.layout = "C"
	case rising:
		p.layout = "F"
	default:
		p.layout = "strided"
	}
	return true
}

// merge makes rows of axes, which come with the longest stride first.
func (p *place) merge(axes []axis, item uint64) bool {
	p.row, p.rows = item, 1
	last := func() axis { return axes[len(axes)-1] }
	for len(axes) > 0 && uint64(last().stride) == p.row {
		p.row *= uint64(last().length)
		axes = axes[:len(axes)-1]
	}
	for len(axes) > 0 {
		stride, length := uint64(last().stride), uint64(last().length)
		if p.step == 0 {
			if stride < p.row { // they overlap
				return false
			}
			p.step = stride
		} else if stride != p.step*p.rows {
			return false
		}
		p.rows *= length
		axes = axes[:len(axes)-1]
	}
	return p.step == 0 || p.rows < objects.UserSpace/p.step
}

// eventOf returns the facts about the elements of a place.
func (p *place) eventOf(f facts) *event.Contents {
	return &event.Contents{
		Elements: p.elements, Item: event.Bytes(p.typ.size), Seen: f.seen, Layout: p.layout, Min: f.min, Max: f.max,
		Zeros: f.zeros, Missing: f.missing, Infinite: f.infinite, Whole: f.whole, Real: f.real, Fits: f.fits,
		Distinct: f.distinct, Ascending: f.ascending, Longest: f.longest, ASCII: f.ascii,
	}
}

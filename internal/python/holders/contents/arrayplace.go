package contents

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// place describes the memory of an array's elements: rows of the same size without gaps, at the same distance from each
// other.
type place struct {
	typ      elementType
	elements int64
	base     uint64 // the address of the first row
	row      uint64 // bytes of a row
	step     uint64 // bytes from one row to the next; 0 for a single row
	rows     uint64
	layout   string // "C", "F" or "strided"; "" for an array of one axis
	checks   []spot
}

// spot has bytes of the objects that describe an array. They must be unchanged after the elements were read.
type spot struct {
	addr  uint64
	bytes []byte
}

// span returns the bytes from the beginning of the first row to the end of the last.
func (p *place) span() uint64 { return p.step*(p.rows-1) + p.row }

// axis has the length of an axis of an array, and the bytes from one element to the next.
type axis struct{ length, stride int64 }

// placer finds the places of elements. It reads the process's memory anew, because kept pages may be out of date.
type placer struct {
	*objects.Sizer
	touched *objects.ResidentMemory
}

// fresh reads at most 512 bytes, and notes them in p.checks. It returns nil where they cannot be read.
func (a placer) fresh(p *place, addr uint64, size int) []byte {
	const maxSize = 512
	raw := make([]byte, size)
	if size > maxSize || !a.touched.Read(raw, addr) {
		return nil
	}
	p.checks = append(p.checks, spot{addr, raw})
	return raw
}

// unchanged reports whether the array's description is what it was when the place was found.
func (a placer) unchanged(p *place) bool {
	for _, c := range p.checks {
		now := make([]byte, len(c.bytes))
		if !a.touched.Read(now, c.addr) || !bytes.Equal(now, c.bytes) {
			return false
		}
	}
	return true
}

// Array finds the elements of a NumPy array, or of one row of an array with two axes: see [objects.ArrayData] for the
// layout. ok is false for unknown types, and for everything that does not fit into the process's memory.
func (a placer) Array(addr uint64, row int64) (p place, ok bool) {
	const typeAt, flagsEnd, axesAt, most = 8, 68, 24, 32
	head := a.fresh(&p, addr+typeAt, flagsEnd-typeAt)
	if head == nil {
		return p, false
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at-typeAt:]) }
	axes := int32(word(axesAt))
	if axes < 1 || axes > most || !a.readType(&p, word(objects.ArrayDescr)) {
		return p, false
	}
	lengths := a.fresh(&p, word(objects.ArrayLengths), int(8*axes))
	strides := a.fresh(&p, word(objects.ArrayStrides), int(8*axes))
	if lengths == nil || strides == nil {
		return p, false
	}
	shape := make([]axis, axes)
	for i := range shape {
		shape[i].length = int64(binary.LittleEndian.Uint64(lengths[8*i:]))
		shape[i].stride = int64(binary.LittleEndian.Uint64(strides[8*i:]))
	}
	p.base = word(objects.ArrayData)
	if row != objects.Whole {
		stride := shape[0].stride
		if len(shape) != 2 || row >= shape[0].length || stride > objects.UserSpace || stride < -objects.UserSpace {
			return p, false
		}
		p.base += uint64(row * stride)
		shape = shape[1:]
	}
	return p, p.setRows(shape) && a.fits(&p)
}

// fits reports whether the place lies in one mapping.
func (a placer) fits(p *place) bool {
	_, ok := a.Sizes.Buffer(p.base, p.span())
	return ok && p.base >= objects.LowestAddress && p.base < objects.UserSpace
}

// readType reads the type of the elements, and reports whether it is a known one: see [objects.Sizer.DType] for the
// layout.
func (a placer) readType(p *place, descr uint64) bool {
	const kind, byteOrder, end = 24, 26, 48
	raw := a.fresh(p, descr+kind, end-kind)
	name, size, ok := a.DType(descr)
	if raw == nil || !ok || name == "" || raw[byteOrder-kind] == '>' {
		return false
	}
	p.typ = elementType{kind: raw[0], size: int(size)}
	return p.typ.isKnown() || p.typ == elementType{kind: objects.KindObject, size: 8}
}

// setRows sets the rows that the axes of an array make, and the layout. It returns false where elements overlap, or
// where there is more than one kind of gap.
func (p *place) setRows(axes []axis) bool {
	item := uint64(p.typ.size)
	count, backwards := uint64(1), false
	sorted := make([]axis, 0, len(axes))
	for _, a := range axes {
		stride := max(a.stride, -a.stride)
		if a.length <= 0 || a.length >= objects.UserSpace || stride < 0 || stride >= objects.UserSpace ||
			count > objects.UserSpace/uint64(a.length) || stride > 0 && a.length > objects.UserSpace/stride {
			return false
		}
		count *= uint64(a.length)
		if a.length == 1 {
			continue
		}
		if a.stride < 0 {
			p.base -= uint64(a.length-1) * uint64(stride)
			backwards = true
		}
		sorted = append(sorted, axis{a.length, stride})
	}
	p.elements = int64(count)
	longestFirst := func(x, y axis) int { return cmp.Compare(y.stride, x.stride) }
	isF := slices.IsSortedFunc(sorted, func(x, y axis) int { return longestFirst(y, x) })
	isC := slices.IsSortedFunc(sorted, longestFirst)
	slices.SortFunc(sorted, longestFirst)
	if !p.merge(sorted, item) {
		return false
	}
	switch {
	case p.rows > 1 || backwards:
		p.layout = "strided"
	case len(sorted) < 2:
	case isC:
		p.layout = "C"
	case isF:
		p.layout = "F"
	default:
		p.layout = "strided"
	}
	return true
}

// merge sets row, rows and step. Axes without gaps, from the shortest stride on, make up a row; all other axes must
// make rows at the same distance. The axes come with the longest stride first.
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
			if stride < p.row { // rows overlap
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

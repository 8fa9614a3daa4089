package holders

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/contents"
)

// arrayPlace is where the elements of an array are: so many rows, each so many bytes without a gap, so far from one to
// the next.
type arrayPlace struct {
	typ      contents.Type
	elements int64
	base     uint64
	row      uint64 // bytes
	step     uint64 // from one row to the next; 0 for one row
	rows     uint64
	layout   string
	checks   []spot
}

// spot has bytes that say where the elements are: they must be the same after the elements were read.
type spot struct {
	addr  uint64
	bytes []byte
}

// span is the bytes from the first element to the last.
func (p *arrayPlace) span() uint64 { return p.step*(p.rows-1) + p.row }

// axis has the length of an axis of an array, and the bytes from one element to the next.
type axis struct{ length, stride int64 }

// arrayPlacer finds the places of elements. It reads everything anew: what was read before may be old.
type arrayPlacer struct {
	*sizer
	touched *touched
}

// fresh reads bytes that are to be checked later, at most 512.
func (a arrayPlacer) fresh(p *arrayPlace, addr uint64, size int) []byte {
	raw := make([]byte, size)
	if size > 512 || !a.touched.read(raw, addr) {
		return nil
	}
	p.checks = append(p.checks, spot{addr, raw})
	return raw
}

// unchanged reports whether a place is still that of the elements.
func (a arrayPlacer) unchanged(p *arrayPlace) bool {
	for _, c := range p.checks {
		now := make([]byte, len(c.bytes))
		if !a.touched.read(now, c.addr) || !bytes.Equal(now, c.bytes) {
			return false
		}
	}
	return true
}

// array finds the elements of a NumPy array, or of one row of two axes: see [walker.visitArray] for the layout. It is
// false for types that are not known, and for everything that does not fit into the process's memory.
func (a arrayPlacer) array(addr uint64, row int64) (p arrayPlace, ok bool) {
	const typeAt, flagsEnd, data, nd, dimensions, strides, descr, most = 8, 68, 16, 24, 32, 40, 56, 32
	head := a.fresh(&p, addr+typeAt, flagsEnd-typeAt)
	if head == nil {
		return p, false
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at-typeAt:]) }
	axes := int32(word(nd))
	if axes < 1 || axes > most || !a.element(&p, word(descr)) {
		return p, false
	}
	lengths, steps := a.fresh(&p, word(dimensions), int(8*axes)), a.fresh(&p, word(strides), int(8*axes))
	if lengths == nil || steps == nil {
		return p, false
	}
	all := make([]axis, axes)
	for i := range all {
		all[i] = axis{int64(binary.LittleEndian.Uint64(lengths[8*i:])), int64(binary.LittleEndian.Uint64(steps[8*i:]))}
	}
	p.base = word(data)
	if row != whole {
		if len(all) != 2 || row >= all[0].length || all[0].stride > userSpace || all[0].stride < -userSpace {
			return p, false
		}
		p.base += uint64(row * all[0].stride)
		all = all[1:]
	}
	return p, p.lay(all) && a.fits(&p)
}

// fits reports whether the place is in one mapping.
func (a arrayPlacer) fits(p *arrayPlace) bool {
	_, ok := a.sizes.buffer(p.base, p.span())
	return ok && p.base >= lowestAddress && p.base < userSpace
}

// element reads the type of the elements: see [sizer.dtype] for the layout.
func (a arrayPlacer) element(p *arrayPlace, descr uint64) bool {
	const kind, end = 24, 48
	raw := a.fresh(p, descr+kind, end-kind)
	name, size, ok := a.dtype(descr)
	if raw == nil || !ok || name == "" || raw[2] == '>' {
		return false
	}
	p.typ = contents.Type{Kind: raw[0], Size: int(size)}
	return p.typ.Known() || p.typ == contents.Type{Kind: kindObject, Size: 8}
}

// lay finds the rows that the axes of an array make. It is false where elements overlap, or where there is more than
// one kind of gap.
func (p *arrayPlace) lay(axes []axis) bool {
	item := uint64(p.typ.Size)
	count, backwards := uint64(1), false
	sorted := make([]axis, 0, len(axes))
	for _, one := range axes {
		size := max(one.stride, -one.stride)
		if one.length <= 0 || one.length >= userSpace || size < 0 || size >= userSpace ||
			count > userSpace/uint64(one.length) || size > 0 && one.length > userSpace/size {
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

// merge makes rows of axes, the longest strides first.
func (p *arrayPlace) merge(axes []axis, item uint64) bool {
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
	return p.step == 0 || p.rows < userSpace/p.step
}

// eventOf returns the facts about the elements of a place.
func (p *arrayPlace) eventOf(f contents.Facts) *event.Contents {
	return &event.Contents{
		Elements: p.elements, Item: event.Bytes(p.typ.Size), Seen: f.Seen, Layout: p.layout, Min: f.Min, Max: f.Max,
		Zeros: f.Zeros, Missing: f.Missing, Infinite: f.Infinite, Whole: f.Whole, Real: f.Real, Fits: f.Fits,
		Distinct: f.Distinct, Ascending: f.Ascending, Longest: f.Longest, ASCII: f.ASCII,
	}
}

package holders

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/contents"
)

// Bounds of reading the elements of arrays, of one listing.
const (
	leastArrays    = 1 << 20  // bytes of an array's elements
	leastOfColumn  = 64 << 10 // of a column's: its frame has a megabyte
	mostArrays     = 64       // the largest
	elementsBytes  = 1 << 30  // read
	elementsChunk  = 1 << 20  // bytes read at once
	elementsSample = 64 << 10 // bytes of each part of a sample
	probedAbove    = 32 << 20 // of larger arrays a sample of this many bytes says how fast they are read
	probeBytes     = 4 << 20
)

// An inspector reads the elements of the largest arrays and columns, and finds facts about them.
type inspector struct {
	*sizer
	placer arrayPlacer
	wanted []wantedContents
	seed   maphash.Seed
	buf    []byte
	packed []byte
	until  time.Duration // processor time
	by     time.Time
	rate   float64               // bytes per second of the processor
	left   uint64                // bytes
	same   map[contentsKey][]int // wanted ones with the same bytes
}

// wantedContents is an array or a column with elements that are to be read.
type wantedContents struct {
	name  string // of the variable, or of the column
	to    **event.Contents
	place arrayPlace
	cost  uint64 // bytes to read for all elements
}

// contentsKey is equal for the same bytes.
type contentsKey struct {
	hash  uint64
	bytes uint64
}

func newInspector(s *sizer, from *touched) *inspector {
	return &inspector{
		sizer: s, placer: arrayPlacer{s, from}, seed: maphash.MakeSeed(),
		rate: 256 << 20, left: elementsBytes, same: map[contentsKey][]int{},
	}
}

// want notes an array with facts that go to a place, if it is large enough.
func (in *inspector) want(name string, to **event.Contents, place arrayPlace, least uint64) {
	bytes := uint64(place.elements) * uint64(place.typ.Size)
	if bytes < least {
		return
	}
	cost := place.span()
	if place.step > elementsChunk { // row by row
		cost = bytes
	}
	in.wanted = append(in.wanted, wantedContents{name, to, place, cost})
}

// variable notes the elements of a variable. Like inspect, it does nothing for nil.
func (in *inspector) variable(r *event.Variable, addr uint64) {
	if in == nil {
		return
	}
	t := in.objectType(addr)
	if t == nil {
		return
	}
	if in.isTensor(t) {
		if place, ok := in.placer.tensor(addr, t); ok {
			in.want(r.Name, &r.Contents, place, leastArrays)
		}
		return
	}
	if at := in.elementsOf(r, addr, t); at != 0 {
		if place, ok := in.placer.array(at, whole); ok {
			in.want(r.Name, &r.Contents, place, leastArrays)
		}
	}
}

// inspect reads the elements, of the small arrays first: then most of them are read as a whole.
func (in *inspector) inspect() {
	if in == nil {
		return
	}
	slices.SortStableFunc(in.wanted, func(x, y wantedContents) int { return cmp.Compare(y.cost, x.cost) })
	in.wanted = in.wanted[:min(len(in.wanted), mostArrays)]
	in.buf, in.packed = make([]byte, elementsChunk), make([]byte, elementsChunk)
	most := in.limits.Elements
	in.until, in.by = ProcessorTime()+most, time.Now().Add(patience*most)
	in.allObjects()
	for i := len(in.wanted) - 1; i >= 0; i-- {
		if in.wanted[i].place.typ.Kind != kindObject {
			in.one(i)
		}
	}
	in.buf, in.packed = nil, nil
	for _, all := range in.same {
		in.name(all)
	}
}

// name notes which of the arrays with the same bytes are others: views of the same memory are not.
func (in *inspector) name(same []int) {
	for _, i := range same {
		c := *in.wanted[i].to
		for _, j := range same {
			other := &in.wanted[j]
			if len(c.SameAs) < maxAlso && other.place.base != in.wanted[i].place.base {
				c.SameAs = append(c.SameAs, other.name)
			}
		}
	}
}

// allObjects looks at the objects of arrays, those of the small arrays first.
func (in *inspector) allObjects() {
	var all []*wantedContents
	for i := range in.wanted {
		if in.wanted[i].place.typ.Kind == kindObject {
			all = append(all, &in.wanted[i])
		}
	}
	left, before := in.mem.limit-in.mem.total, in.mem.err // of what is read after it
	in.mem.limit, in.mem.err = in.mem.total+objectsBytes, nil
	defer func() { in.mem.limit, in.mem.err = in.mem.total+left, before }()
	end := ProcessorTime() + in.limits.Elements/2
	for i := len(all) - 1; i >= 0; i-- {
		now := ProcessorTime()
		found := in.objects(&all[i].place, now+max(0, end-now)/time.Duration(i+1))
		if found != nil && in.placer.unchanged(&all[i].place) {
			*all[i].to = found
		}
	}
}

// one reads an array. It takes its share of what is left of the budget for those that are left.
func (in *inspector) one(i int) {
	w := &in.wanted[i]
	rest := uint64(i + 1)
	if w.cost > probedAbove {
		in.read(&w.place, probeBytes)
	}
	left := float64(max(0, in.until-ProcessorTime())) / float64(rest)
	share := min(in.left/rest, uint64(in.rate*left/float64(time.Second)))
	s := in.read(&w.place, share)
	if s == nil || !in.placer.unchanged(&w.place) {
		return
	}
	f := s.Facts()
	if f.Seen == 0 {
		return
	}
	*w.to = w.place.eventOf(f)
	if hash, all := s.Hash(); all && f.Seen == w.place.elements {
		key := contentsKey{hash, uint64(f.Seen) * uint64(w.place.typ.Size)}
		in.same[key] = append(in.same[key], i)
	}
}

// over reports whether the time is over.
func (in *inspector) over() bool {
	return ProcessorTime() > in.until || time.Now().After(in.by) || in.ctx.Err() != nil
}

// read takes in at most so many bytes of an array: all of them, or parts that are as far from one another as each
// other. It is nil for an array of rows that are too long.
func (in *inspector) read(p *arrayPlace, most uint64) *contents.Scanner {
	cost := min(p.span(), p.rows*max(p.row, min(p.step, elementsChunk)))
	size := uint64(elementsChunk)
	if cost > most {
		size = elementsSample
	}
	parts := partsOf(p, size)
	if parts.count == 0 {
		return nil
	}
	take := parts.count
	if cost > most {
		take = min(take, max(1, most/parts.bytes))
	}
	s := contents.NewScanner(p.typ, in.seed)
	began, before := ProcessorTime(), in.left
	for k := range take {
		i := k
		if take < parts.count {
			i = k*(parts.count/take) + k*(parts.count%take)/take
			s.Skip()
		}
		if in.over() || in.left < parts.bytes {
			s.Skip()
			break
		}
		in.part(s, p, parts, i)
	}
	if took := ProcessorTime() - began; took > time.Millisecond {
		in.rate = float64(before-in.left) / took.Seconds()
	}
	return s
}

// parts is how an array is cut: so many parts, of so many rows or, of an array of one row, of so many bytes.
type parts struct {
	count uint64
	rows  uint64 // of a part
	bytes uint64 // read for a part
}

func partsOf(p *arrayPlace, size uint64) parts {
	item := uint64(p.typ.Size)
	switch {
	case p.rows == 1:
		bytes := min(max(item, size/item*item), p.row)
		return parts{(p.row + bytes - 1) / bytes, 1, bytes}
	case p.row > elementsChunk:
		return parts{}
	case p.step > size:
		return parts{p.rows, 1, p.row}
	}
	rows := min(size/p.step, p.rows)
	return parts{(p.rows + rows - 1) / rows, rows, (rows-1)*p.step + p.row}
}

// part reads one part, and takes its elements in.
func (in *inspector) part(s *contents.Scanner, p *arrayPlace, of parts, i uint64) {
	in.left -= of.bytes
	if raw := in.rows(p, of, i); raw != nil {
		s.Add(raw)
	} else {
		s.Skip()
	}
}

// rows reads the elements of a part, without gaps; nil where they cannot be read. They hold until the next call.
func (in *inspector) rows(p *arrayPlace, of parts, i uint64) []byte {
	if p.rows == 1 {
		at := i * of.bytes
		buf := in.buf[:min(of.bytes, p.row-at)]
		if !in.placer.touched.read(buf, p.base+at) {
			return nil
		}
		return buf
	}
	rows := min(of.rows, p.rows-i*of.rows)
	buf := in.buf[:(rows-1)*p.step+p.row]
	if !in.placer.touched.read(buf, p.base+i*of.rows*p.step) {
		return nil
	}
	return pack(in.packed[:0], buf, p.row, p.step)
}

// pack puts rows without their gaps behind each other.
func pack(to, from []byte, row, step uint64) []byte {
	for uint64(len(from)) >= row {
		to = append(to, from[:row]...)
		from = from[min(step, uint64(len(from))):]
	}
	return to
}

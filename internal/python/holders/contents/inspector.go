// Package contents reads the elements of large arrays and of the columns of data frames, and finds facts about them:
// the least and the greatest number, how many are zeros, how many values there are, which narrower type would hold
// them all. No element leaves but the least and the greatest number. The bytes are hostile: any bytes give facts, in
// bounded time.
package contents

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// Bounds of reading the elements of arrays, of one listing.
const (
	leastArrays    = 1 << 20  // bytes of an array's elements
	leastOfColumn  = 64 << 10 // of a column's: its frame has a megabyte
	mostArrays     = 64       // the largest
	elementsBytes  = 1 << 30  // read
	ElementsChunk  = 1 << 20  // bytes read at once
	ElementsSample = 64 << 10 // bytes of each part of a sample
	probedAbove    = 32 << 20 // of larger arrays a sample of this many bytes says how fast they are read
	probeBytes     = 4 << 20
)

// An inspector reads the elements of the largest arrays and columns, and finds facts about them.
type Inspector struct {
	*objects.Sizer
	Placer Placer
	Wanted []wantedContents
	seed   maphash.Seed
	buf    []byte
	packed []byte
	until  time.Duration // processor time
	by     time.Time
	rate   float64               // bytes per second of the processor
	Left   uint64                // bytes
	Same   map[contentsKey][]int // wanted ones with the same bytes
}

// wantedContents is an array or a column with elements that are to be read.
type wantedContents struct {
	name  string // of the variable, or of the column
	to    **event.Contents
	place Place
	cost  uint64 // bytes to read for all elements
}

// contentsKey is equal for the same bytes.
type contentsKey struct {
	hash  uint64
	bytes uint64
}

// NewInspector returns an inspector that reads elements from memory.
func NewInspector(s *objects.Sizer, from *objects.ResidentMemory) *Inspector {
	return &Inspector{
		Sizer: s, Placer: Placer{s, from}, seed: maphash.MakeSeed(),
		rate: 256 << 20, Left: elementsBytes, Same: map[contentsKey][]int{},
	}
}

// Want notes an array with facts that go to a place, if it is large enough.
func (in *Inspector) Want(name string, to **event.Contents, place Place, least uint64) {
	bytes := uint64(place.elements) * uint64(place.Typ.Size)
	if bytes < least {
		return
	}
	cost := place.span()
	if place.Step > ElementsChunk { // row by row
		cost = bytes
	}
	in.Wanted = append(in.Wanted, wantedContents{name, to, place, cost})
}

// Variable notes the elements of a variable. Like inspect, it does nothing for nil.
func (in *Inspector) Variable(r *event.Variable, addr uint64) {
	if in == nil {
		return
	}
	t := in.ObjectType(addr)
	if t == nil {
		return
	}
	if in.IsTensor(t) {
		if place, ok := in.Placer.tensor(addr, t); ok {
			in.Want(r.Name, &r.Contents, place, leastArrays)
		}
		return
	}
	if at := in.elementsOf(r, addr, t); at != 0 {
		if place, ok := in.Placer.Array(at, objects.Whole); ok {
			in.Want(r.Name, &r.Contents, place, leastArrays)
		}
	}
}

// Inspect reads the elements, of the small arrays first: then most of them are read as a whole.
func (in *Inspector) Inspect() {
	if in == nil {
		return
	}
	slices.SortStableFunc(in.Wanted, func(x, y wantedContents) int { return cmp.Compare(y.cost, x.cost) })
	in.Wanted = in.Wanted[:min(len(in.Wanted), mostArrays)]
	in.buf, in.packed = make([]byte, ElementsChunk), make([]byte, ElementsChunk)
	most := in.Limits.Elements
	in.until, in.by = objects.ProcessorTime()+most, time.Now().Add(objects.Patience*most)
	in.allObjects()
	for i := len(in.Wanted) - 1; i >= 0; i-- {
		if in.Wanted[i].place.Typ.Kind != objects.KindObject {
			in.one(i)
		}
	}
	in.buf, in.packed = nil, nil
	for _, all := range in.Same {
		in.name(all)
	}
}

// name notes which of the arrays with the same bytes are others: views of the same memory are not.
func (in *Inspector) name(same []int) {
	for _, i := range same {
		c := *in.Wanted[i].to
		for _, j := range same {
			other := &in.Wanted[j]
			if len(c.SameAs) < objects.MaxAlso && other.place.base != in.Wanted[i].place.base {
				c.SameAs = append(c.SameAs, other.name)
			}
		}
	}
}

// allObjects looks at the objects of arrays, those of the small arrays first.
func (in *Inspector) allObjects() {
	var all []*wantedContents
	for i := range in.Wanted {
		if in.Wanted[i].place.Typ.Kind == objects.KindObject {
			all = append(all, &in.Wanted[i])
		}
	}
	left, before := in.Mem.Limit-in.Mem.Total, in.Mem.Err // of what is read after it
	in.Mem.Limit, in.Mem.Err = in.Mem.Total+objectsBytes, nil
	defer func() { in.Mem.Limit, in.Mem.Err = in.Mem.Total+left, before }()
	end := objects.ProcessorTime() + in.Limits.Elements/2
	for i := len(all) - 1; i >= 0; i-- {
		now := objects.ProcessorTime()
		found := in.objects(&all[i].place, now+max(0, end-now)/time.Duration(i+1))
		if found != nil && in.Placer.unchanged(&all[i].place) {
			*all[i].to = found
		}
	}
}

// one reads an array. It takes its share of what is left of the budget for those that are left.
func (in *Inspector) one(i int) {
	w := &in.Wanted[i]
	rest := uint64(i + 1)
	if w.cost > probedAbove {
		in.read(&w.place, probeBytes)
	}
	left := float64(max(0, in.until-objects.ProcessorTime())) / float64(rest)
	share := min(in.Left/rest, uint64(in.rate*left/float64(time.Second)))
	s := in.read(&w.place, share)
	if s == nil || !in.Placer.unchanged(&w.place) {
		return
	}
	f := s.Facts()
	if f.Seen == 0 {
		return
	}
	*w.to = w.place.eventOf(f)
	if hash, all := s.Hash(); all && f.Seen == w.place.elements {
		key := contentsKey{hash, uint64(f.Seen) * uint64(w.place.Typ.Size)}
		in.Same[key] = append(in.Same[key], i)
	}
}

// over reports whether the time is over.
func (in *Inspector) over() bool {
	return objects.ProcessorTime() > in.until || time.Now().After(in.by) || in.Ctx.Err() != nil
}

// read takes in at most so many bytes of an array: all of them, or parts that are as far from one another as each
// other. It is nil for an array of rows that are too long.
func (in *Inspector) read(p *Place, most uint64) *Scanner {
	cost := min(p.span(), p.Rows*max(p.Row, min(p.Step, ElementsChunk)))
	size := uint64(ElementsChunk)
	if cost > most {
		size = ElementsSample
	}
	parts := PartsOf(p, size)
	if parts.Count == 0 {
		return nil
	}
	take := parts.Count
	if cost > most {
		take = min(take, max(1, most/parts.Bytes))
	}
	s := NewScanner(p.Typ, in.seed)
	began, before := objects.ProcessorTime(), in.Left
	for k := range take {
		i := k
		if take < parts.Count {
			i = k*(parts.Count/take) + k*(parts.Count%take)/take
			s.Skip()
		}
		if in.over() || in.Left < parts.Bytes {
			s.Skip()
			break
		}
		in.part(s, p, parts, i)
	}
	if took := objects.ProcessorTime() - began; took > time.Millisecond {
		in.rate = float64(before-in.Left) / took.Seconds()
	}
	return s
}

// Parts is how an array is cut: so many parts, of so many rows or, of an array of one row, of so many bytes.
type Parts struct {
	Count uint64
	Rows  uint64 // of a part
	Bytes uint64 // read for a part
}

// PartsOf cuts an array into parts of about so many bytes.
func PartsOf(p *Place, size uint64) Parts {
	item := uint64(p.Typ.Size)
	switch {
	case p.Rows == 1:
		bytes := min(max(item, size/item*item), p.Row)
		return Parts{(p.Row + bytes - 1) / bytes, 1, bytes}
	case p.Row > ElementsChunk:
		return Parts{}
	case p.Step > size:
		return Parts{p.Rows, 1, p.Row}
	}
	rows := min(size/p.Step, p.Rows)
	return Parts{(p.Rows + rows - 1) / rows, rows, (rows-1)*p.Step + p.Row}
}

// part reads one part, and takes its elements in.
func (in *Inspector) part(s *Scanner, p *Place, of Parts, i uint64) {
	in.Left -= of.Bytes
	if raw := in.rows(p, of, i); raw != nil {
		s.Add(raw)
	} else {
		s.Skip()
	}
}

// rows reads the elements of a part, without gaps; nil where they cannot be read. They hold until the next call.
func (in *Inspector) rows(p *Place, of Parts, i uint64) []byte {
	if p.Rows == 1 {
		at := i * of.Bytes
		buf := in.buf[:min(of.Bytes, p.Row-at)]
		if !in.Placer.Touched.Read(buf, p.base+at) {
			return nil
		}
		return buf
	}
	rows := min(of.Rows, p.Rows-i*of.Rows)
	buf := in.buf[:(rows-1)*p.Step+p.Row]
	if !in.Placer.Touched.Read(buf, p.base+i*of.Rows*p.Step) {
		return nil
	}
	return Pack(in.packed[:0], buf, p.Row, p.Step)
}

// Pack puts rows without their gaps behind each other.
func Pack(to, from []byte, row, step uint64) []byte {
	for uint64(len(from)) >= row {
		to = append(to, from[:row]...)
		from = from[min(step, uint64(len(from))):]
	}
	return to
}

// Package contents reads the elements of large arrays and of the columns of data frames, and finds facts about them:
// the least and the greatest number, how many are zeros, how many values there are, which narrower type would hold
// them all. No element leaves but the least and the greatest number. The bytes are hostile: any bytes give facts, in
// bounded time.
package contents

import (
	"hash/maphash"
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

// over reports whether the time is over.
func (in *Inspector) over() bool {
	return objects.ProcessorTime() > in.until || time.Now().After(in.by) || in.Ctx.Err() != nil
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

// Pack puts rows without their gaps behind each other.
func Pack(to, from []byte, row, step uint64) []byte {
	for uint64(len(from)) >= row {
		to = append(to, from[:row]...)
		from = from[min(step, uint64(len(from))):]
	}
	return to
}

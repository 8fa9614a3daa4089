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
	elementsChunk  = 1 << 20  // bytes read at once
	elementsSample = 64 << 10 // bytes of each part of a sample
	probedAbove    = 32 << 20 // of larger arrays a sample of this many bytes says how fast they are read
	probeBytes     = 4 << 20
)

// Inspector reads the elements of the largest arrays and columns, and finds facts about them.
type Inspector struct {
	*objects.Sizer
	placer placer
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
	place place
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
		Sizer: s, placer: placer{s, from}, seed: maphash.MakeSeed(),
		rate: 256 << 20, left: elementsBytes, same: map[contentsKey][]int{},
	}
}

// want notes an array with facts that go to a place, if it is large enough.
func (in *Inspector) want(name string, to **event.Contents, place place, least uint64) {
	bytes := uint64(place.elements) * uint64(place.typ.size)
	if bytes < least {
		return
	}
	cost := place.span()
	if place.step > elementsChunk { // row by row
		cost = bytes
	}
	in.wanted = append(in.wanted, wantedContents{name, to, place, cost})
}

// over reports whether the time is over.
func (in *Inspector) over() bool {
	return objects.ProcessorTime() > in.until || time.Now().After(in.by) || in.Ctx.Err() != nil
}

// rows reads the elements of a part, without gaps; nil where they cannot be read. They hold until the next call.
func (in *Inspector) rows(p *place, of parts, i uint64) []byte {
	if p.rows == 1 {
		at := i * of.bytes
		buf := in.buf[:min(of.bytes, p.row-at)]
		if !in.placer.touched.Read(buf, p.base+at) {
			return nil
		}
		return buf
	}
	rows := min(of.rows, p.rows-i*of.rows)
	buf := in.buf[:(rows-1)*p.step+p.row]
	if !in.placer.touched.Read(buf, p.base+i*of.rows*p.step) {
		return nil
	}
	return pack(in.packed[:0], buf, p.row, p.step)
}

// parts is how an array is cut: so many parts, of so many rows or, of an array of one row, of so many bytes.
type parts struct {
	count uint64
	rows  uint64 // of a part
	bytes uint64 // read for a part
}

// partsOf cuts an array into parts of about so many bytes.
func partsOf(p *place, size uint64) parts {
	item := uint64(p.typ.size)
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

// pack copies rows one behind the other, without the gaps between them.
func pack(to, from []byte, row, step uint64) []byte {
	for uint64(len(from)) >= row {
		to = append(to, from[:row]...)
		from = from[min(step, uint64(len(from))):]
	}
	return to
}

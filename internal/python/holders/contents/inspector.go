// Package contents finds facts about the elements of large arrays and of the columns of data frames. They are the least
// and the greatest number, how many are zeros, how many values there are, which narrower type would hold them all. Of
// the elements themselves it passes on only the least and the greatest number. The bytes are hostile: any bytes give
// facts, in bounded time.
package contents

import (
	"hash/maphash"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// Bounds of reading the elements of arrays, of one listing.
const (
	leastArrays    = 1 << 20  // bytes of an array's elements, for the array to be read
	leastOfColumn  = 64 << 10 // bytes of a column's elements: its frame has a megabyte
	mostArrays     = 64       // arrays and columns that are read, the largest ones
	elementsBytes  = 1 << 30  // bytes that are read
	elementsChunk  = 1 << 20  // bytes that are read at once
	elementsSample = 64 << 10 // bytes of each part of a sample
	probedAbove    = 32 << 20 // bytes of an array above which a first sample measures how fast it is read
	probeBytes     = 4 << 20  // bytes of that sample
)

// Inspector reads the elements of the largest arrays and columns, and finds facts about them.
type Inspector struct {
	*objects.Sizer
	placer placer
	wanted []wantedContents
	seed   maphash.Seed
	buf    []byte
	packed []byte                // rows of buf without gaps
	until  time.Duration         // the ProcessorTime at which reading stops
	by     time.Time             // the time at which reading stops
	rate   float64               // bytes that are read per second of the processor
	left   uint64                // bytes that may still be read
	same   map[contentsKey][]int // indexes of wanted, by their contents
}

// wantedContents is an array or a column with elements that are to be read.
type wantedContents struct {
	name  string           // of the variable, or of the column
	to    **event.Contents // where the facts go
	place place
	cost  uint64 // bytes to read for all elements
}

// contentsKey identifies the bytes of all elements: equal keys mean equal bytes.
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

// want notes that the facts about an array's elements are wanted, if the elements have at least least bytes.
func (in *Inspector) want(name string, to **event.Contents, place place, least uint64) {
	bytes := uint64(place.elements) * uint64(place.typ.size)
	if bytes < least {
		return
	}
	cost := place.span()
	if place.step > elementsChunk { // the array is read row by row, without the gaps
		cost = bytes
	}
	in.wanted = append(in.wanted, wantedContents{name, to, place, cost})
}

// isOver reports whether the time is over.
func (in *Inspector) isOver() bool {
	return objects.ProcessorTime() > in.until || time.Now().After(in.by) || in.Ctx.Err() != nil
}

// rows reads the elements of part i, without gaps; nil where they cannot be read. The result holds until the next call.
func (in *Inspector) rows(p *place, cut parts, i uint64) []byte {
	if p.rows == 1 {
		at := i * cut.bytes
		buf := in.buf[:min(cut.bytes, p.row-at)]
		if !in.placer.touched.Read(buf, p.base+at) {
			return nil
		}
		return buf
	}
	rows := min(cut.rows, p.rows-i*cut.rows)
	buf := in.buf[:(rows-1)*p.step+p.row]
	if !in.placer.touched.Read(buf, p.base+i*cut.rows*p.step) {
		return nil
	}
	return pack(in.packed[:0], buf, p.row, p.step)
}

// parts says how an array is cut into parts for reading. The last part may be smaller.
type parts struct {
	count uint64 // number of parts
	rows  uint64 // rows of a part; 1 for an array of one row, which is cut by bytes
	bytes uint64 // bytes that are read for a part
}

// partsOf cuts an array into parts of about size bytes. It returns no parts for an array whose rows are too long.
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

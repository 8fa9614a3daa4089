package windows

import "bytes"

// Archive is a sequence of records, compressed chunk by chunk. The place of a record has the number of its chunk, from
// 1, in the upper 32 bits, and the offset in the chunk in the lower ones.
type Archive struct {
	Chunk  int // bytes that are compressed at once, 0 for 64 KiB
	packed [][]byte
	last   []byte // the chunk that is being filled
	space  []byte // buffer for compression
	opened int    // the chunk that was decompressed last, from 1
	open   []byte
	codec  codec
}

const chunkSize = 64 << 10

// Add adds a record, and returns its place.
func (a *Archive) Add(record []byte) uint64 {
	if a.Chunk == 0 {
		a.Chunk = chunkSize
	}
	if len(a.last)+len(record) > a.Chunk && len(a.last) > 0 {
		a.pack()
	}
	at := uint64(len(a.packed)+1)<<32 | uint64(len(a.last))
	a.last = append(a.last, record...)
	return at
}

// pack compresses the last chunk.
func (a *Archive) pack() {
	a.space = a.codec.pack(a.space[:0], a.last)
	a.packed = append(a.packed, bytes.Clone(a.space))
	a.last = a.last[:0]
}

// From returns the bytes of a chunk from a place on. They begin with the record, which must mark its own end. The bytes
// are valid until the next call.
func (a *Archive) From(place uint64) []byte {
	chunk, offset := int(place>>32), uint32(place)
	if chunk > len(a.packed) {
		return a.last[offset:]
	}
	if a.opened != chunk {
		unpacked := a.codec.unpack(a.open[:0], a.packed[chunk-1])
		a.opened, a.open = chunk, unpacked
	}
	return a.open[offset:]
}

package holders

import (
	"encoding/binary"
	"errors"
	"io"
)

// Memory is read in pieces that are kept: objects lie close together.
const (
	pieceSize = 16 << 10
	pageSize  = 4 << 10
	maxPieces = (256 << 20) / pieceSize // kept at a time, where every object is looked for
	fewPieces = (24 << 20) / pieceSize  // and where they are looked at in their order
	pathBytes = 64 << 20                // read beyond the limit, to describe what was found

	lowestAddress = 64 << 10 // vm.mmap_min_addr
	userSpace     = 1 << 47
)

var errBytes = errors.New("the limit of bytes was reached")

// piece is a piece of memory; the pages that could not be read are not in valid.
type piece struct {
	data  []byte
	valid uint8
}

// memory reads a process's memory and keeps what it read.
type memory struct {
	r      io.ReaderAt
	pieces map[uint64]*piece
	order  []uint64 // of the pieces, the oldest from next on
	next   int
	last   *piece
	lastAt uint64
	total  int64 // bytes read
	limit  int64
	keeps  int // pieces at a time
	err    error
	joint  []byte // for what lies across two pieces
}

func newMemory(r io.ReaderAt, limit int64) *memory {
	return &memory{r: r, pieces: map[uint64]*piece{}, limit: limit, keeps: maxPieces}
}

// piece returns the piece with a number, nil where nothing of it is mapped.
func (m *memory) piece(n uint64) *piece {
	if m.last != nil && m.lastAt == n {
		return m.last
	}
	p, ok := m.pieces[n]
	if !ok {
		if m.total >= m.limit {
			m.err = errBytes
			return nil
		}
		p = m.fetch(n)
		m.keep(n, p)
	}
	m.last, m.lastAt = p, n
	return p
}

// fetch reads a piece, and page by page where that fails.
func (m *memory) fetch(n uint64) *piece {
	p := &piece{data: make([]byte, pieceSize)}
	at := int64(n * pieceSize)
	got, _ := m.r.ReadAt(p.data, at)
	m.total += int64(max(got, pageSize)) // a read that fails costs as much
	pages := max(got, 0) / pageSize
	p.valid = 1<<pages - 1
	for i := pages + 1; i < pieceSize/pageSize; i++ {
		if got, _ := m.r.ReadAt(p.data[i*pageSize:(i+1)*pageSize], at+int64(i*pageSize)); got == pageSize {
			p.valid |= 1 << i
			m.total += pageSize
		}
	}
	if p.valid == 0 {
		p.data = nil
	}
	return p
}

func (m *memory) keep(n uint64, p *piece) {
	if len(m.order) < m.keeps {
		m.order = append(m.order, n)
	} else {
		delete(m.pieces, m.order[m.next])
		m.order[m.next] = n
		m.next = (m.next + 1) % m.keeps
	}
	m.pieces[n] = p
}

// forget has everything read anew.
func (m *memory) forget() {
	clear(m.pieces)
	m.order, m.next, m.last = m.order[:0], 0, nil
}

// part returns at most size bytes from an address, up to the end of their piece; nil where they cannot be read.
func (m *memory) part(addr uint64, size int) []byte {
	if addr < lowestAddress || addr >= userSpace {
		return nil
	}
	p := m.piece(addr / pieceSize)
	if p == nil || p.valid == 0 {
		return nil
	}
	off := int(addr % pieceSize)
	end := min(off+size, pieceSize)
	if p.valid != 1<<(pieceSize/pageSize)-1 {
		for page := off / pageSize; page <= (end-1)/pageSize; page++ {
			if p.valid&(1<<page) == 0 {
				if end = page * pageSize; end <= off {
					return nil
				}
				break
			}
		}
	}
	return p.data[off:end]
}

// bytes returns exactly size bytes from an address, at most a megabyte; nil where not all can be read. What it returns
// holds until the next call.
func (m *memory) bytes(addr uint64, size int) []byte {
	first := m.part(addr, size)
	if len(first) == size {
		return first
	}
	if len(first) == 0 || size > 1<<20 {
		return nil
	}
	m.joint = append(m.joint[:0], first...)
	for len(m.joint) < size {
		more := m.part(addr+uint64(len(m.joint)), size-len(m.joint))
		if len(more) == 0 {
			return nil
		}
		m.joint = append(m.joint, more...)
	}
	return m.joint
}

// word reads 8 bytes; 0 where they cannot be read.
func (m *memory) word(addr uint64) uint64 {
	if b := m.bytes(addr, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// int32 reads 4 bytes; 0 where they cannot be read.
func (m *memory) int32(addr uint64) int32 {
	if b := m.bytes(addr, 4); b != nil {
		return int32(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// cString reads at most limit bytes up to a NUL.
func (m *memory) cString(addr uint64, limit int) string {
	var out []byte
	for len(out) < limit {
		part := m.part(addr+uint64(len(out)), min(64, limit-len(out)))
		if len(part) == 0 {
			break
		}
		for i, c := range part {
			if c == 0 {
				return string(append(out, part[:i]...))
			}
		}
		out = append(out, part...)
	}
	return string(out)
}

// words calls yield for each of n words from an address, until it returns false or one cannot be read.
func (m *memory) words(addr, n uint64, yield func(i, word uint64) bool) {
	for i := uint64(0); i < n; {
		part := m.part(addr+8*i, int(8*min(n-i, pieceSize/8)))
		if len(part) < 8 {
			w := m.bytes(addr+8*i, 8)
			if w == nil {
				return
			}
			part = w
		}
		for ; len(part) >= 8; part, i = part[8:], i+1 {
			if !yield(i, binary.LittleEndian.Uint64(part)) {
				return
			}
		}
	}
}

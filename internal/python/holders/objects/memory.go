package objects

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Pages that were read are kept, in a table of sets, because objects lie close together and are looked at several
// times.
const (
	Ways      = 8        // pages of a set
	KeptPages = 3 << 9   // 6 MiB, outside Go's heap: inside, the collector would let as much garbage stand
	fewPages  = 1 << 9   // that are kept after [Memory.KeepFew]
	PathBytes = 64 << 20 // bytes read beyond the limit, to describe the findings
)

var errBytes = errors.New("the limit of bytes was reached")

// Memory reads a process's memory and keeps the pages that it read last. It must be closed.
type Memory struct {
	Source     io.ReaderAt
	pages      []byte     // the contents of KeptPages pages
	Kept       []keptPage // what each of these pages is
	hands      []uint8    // the hand of each set's clock: which of its pages to look at next for one to replace
	Sets       uint64     // number of sets; page n is kept in set n modulo Sets
	last       []byte     // the page that was asked for last, nil if it cannot be read
	lastAt     uint64     // its number
	Total      int64      // bytes read
	Limit      int64      // bytes that may be read
	Err        error
	Files      FilePages // pages of files that are not in memory are read for descriptions only
	describing bool      // a description is being read
	joint      []byte    // buffer for bytes that lie across two pages
	run        []byte    // buffer for pages that are read ahead
}

// keptPage describes the page that is kept in a place.
type keptPage struct {
	Number uint64 // 0 for none: the first pages of a process cannot be mapped
	state  uint8
}

const (
	asked      uint8 = 1 << iota // for, since the hand of the set's clock passed
	unreadable                   // there are no contents
	unread                       // there are no contents because the page is a file's, and was not in memory
)

// NewMemory returns the memory of a process, read through r. At most limit bytes of it are read.
func NewMemory(r io.ReaderAt, limit int64) *Memory {
	m := &Memory{Source: r, Limit: limit, Kept: make([]keptPage, KeptPages), hands: make([]uint8, KeptPages/Ways),
		Sets: KeptPages / Ways}
	pages, err := unix.Mmap(-1, 0, KeptPages*PageSize, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		m.Err = fmt.Errorf("memory for pages: %w", err)
		return m
	}
	m.pages = pages
	return m
}

// Allow lets at most a number of further bytes be read.
func (m *Memory) Allow(bytes int64) { m.Limit, m.Err = m.Total+bytes, nil }

// Beside returns other memory of the same process, which keeps few pages.
func (m *Memory) Beside() *Memory {
	other := NewMemory(m.Source, 0)
	other.Total, other.Files = m.Total, m.Files
	other.KeepFew()
	return other
}

// Close gives back the pages. Afterwards nothing can be read.
func (m *Memory) Close() {
	if m.pages != nil {
		_ = unix.Munmap(m.pages)
	}
	m.Forget()
	m.pages = nil
}

// page returns the page with a number; nil where it cannot be read. The result holds until the next call.
func (m *Memory) page(n uint64) []byte {
	if m.lastAt == n && n != 0 && (m.last != nil || !m.describing) {
		return m.last
	}
	if m.pages == nil {
		return nil
	}
	first := int(n%m.Sets) * Ways
	for i := first; i < first+Ways; i++ {
		k := &m.Kept[i]
		if k.Number != n {
			continue
		}
		if k.state&unread == 0 || !m.describing {
			k.state |= asked
			return m.setLast(n, i)
		}
		*k = keptPage{} // a description needs the page: it is read now
	}
	if m.Total >= m.Limit {
		m.Err = errBytes
		return nil
	}
	i := m.victim(n % m.Sets)
	m.Kept[i] = keptPage{n, asked}
	presence := m.Files.presenceOf(n * PageSize)
	switch {
	case presence == untouched:
		clear(m.contents(i))
	case presence == ofFile && !m.describing:
		m.Kept[i].state |= unreadable | unread
	default:
		if got, _ := m.Source.ReadAt(m.contents(i), int64(n*PageSize)); got < PageSize {
			m.Kept[i].state |= unreadable
		}
	}
	m.Total += PageSize // a read that fails costs as much
	return m.setLast(n, i)
}

// contents returns the place of a kept page's contents.
func (m *Memory) contents(i int) []byte { return m.pages[i*PageSize : (i+1)*PageSize : (i+1)*PageSize] }

// setLast makes page n, kept in place i, the last page, and returns its contents; nil if there are none.
func (m *Memory) setLast(n uint64, i int) []byte {
	m.lastAt, m.last = n, nil
	if m.Kept[i].state&unreadable == 0 {
		m.last = m.contents(i)
	}
	return m.last
}

// victim returns the place in a set whose page is to be replaced, by the clock algorithm: the first page that was not
// asked for since the hand passed it.
func (m *Memory) victim(set uint64) int {
	for {
		i := int(set)*Ways + int(m.hands[set])
		m.hands[set] = (m.hands[set] + 1) % Ways
		if m.Kept[i].state&asked == 0 {
			return i
		}
		m.Kept[i].state &^= asked
	}
}

// Release gives back the memory of the pages until more are read.
func (m *Memory) Release() {
	m.Forget()
	if m.pages != nil {
		_ = unix.Madvise(m.pages, unix.MADV_DONTNEED)
	}
}

// KeepFew keeps fewer pages from now on.
func (m *Memory) KeepFew() {
	m.Release()
	m.Sets = fewPages / Ways
}

// Forget drops all kept pages, so that everything is read anew.
func (m *Memory) Forget() {
	clear(m.Kept)
	m.last, m.lastAt = nil, 0
}

// part returns at most size bytes from an address, up to the end of their page; nil where they cannot be read. The
// result holds until the next call.
func (m *Memory) part(addr uint64, size int) []byte {
	if addr < LowestAddress || addr >= UserSpace {
		return nil
	}
	p := m.page(addr / PageSize)
	if p == nil {
		return nil
	}
	off := int(addr % PageSize)
	return p[off:min(off+size, PageSize)]
}

// Bytes returns exactly size bytes from an address, at most a megabyte; nil where not all can be read. The result holds
// until the next call.
func (m *Memory) Bytes(addr uint64, size int) []byte {
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

// Word reads 8 bytes; 0 where they cannot be read.
func (m *Memory) Word(addr uint64) uint64 {
	if b := m.Bytes(addr, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int32 reads 4 bytes; 0 where they cannot be read.
func (m *Memory) Int32(addr uint64) int32 {
	if b := m.Bytes(addr, 4); b != nil {
		return int32(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// description lets reads go to files, too, until done is called: types have their names and the tables of their members
// in files. Objects never lie in pages that are still those of a file, but may lie in pages written since.
func (m *Memory) description() (done func()) {
	before := m.describing
	m.describing = true
	return func() { m.describing = before }
}

// cString reads a text of a description: at most limit bytes, up to a NUL.
func (m *Memory) cString(addr uint64, limit int) string {
	defer m.description()()
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

// Words calls yield for each of n words from an address, until yield returns false or a word cannot be read.
func (m *Memory) Words(addr, n uint64, yield func(i, word uint64) bool) {
	var batch [32]uint64 // yield reads too
	for i := uint64(0); i < n; {
		upToPage := max(1, (PageSize-(addr+8*i)%PageSize)/8) // or the one word that lies across its end
		part := m.Bytes(addr+8*i, int(8*min(n-i, upToPage, uint64(len(batch)))))
		if part == nil {
			return
		}
		count := len(part) / 8
		for at := range count {
			batch[at] = binary.LittleEndian.Uint64(part[8*at:])
		}
		for _, word := range batch[:count] {
			if !yield(i, word) {
				return
			}
			i++
		}
	}
}

package objects

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// holed is memory from lowestAddress on, of which every seventh page is missing. It is read from the beginning of a
// page on.
type holed []byte

const holedEvery = 7

func (h holed) ReadAt(buf []byte, off int64) (n int, err error) {
	for n < len(buf) {
		page := (off + int64(n)) / PageSize
		if page%holedEvery == 0 || off < LowestAddress || page*PageSize-LowestAddress >= int64(len(h)) {
			return n, io.EOF
		}
		n += copy(buf[n:min(n+PageSize, len(buf))], h[page*PageSize-LowestAddress:])
	}
	return n, nil
}

func newHoled(pages int) holed {
	h := make(holed, pages*PageSize)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(h); i += 8 {
		binary.LittleEndian.PutUint64(h[i:], random.Uint64())
	}
	return h
}

// want returns the wanted contents: nil where a page is missing.
func (h holed) want(addr uint64, size int) []byte {
	for page := addr / PageSize; page <= (addr+uint64(size)-1)/PageSize; page++ {
		if page%holedEvery == 0 || page*PageSize-LowestAddress >= uint64(len(h)) {
			return nil
		}
	}
	return h[addr-LowestAddress:][:size]
}

// TestMemory: reads in any order, also of more pages than are kept, give the memory's contents.
func TestMemory(t *testing.T) {
	h := newHoled(3 * KeptPages)
	m := NewMemory(h, 1<<40)
	defer m.Close()
	random := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		size := 1 + random.IntN(64)
		if random.IntN(100) == 0 {
			size = 1 + random.IntN(5*PageSize)
		}
		addr := LowestAddress + random.Uint64N(uint64(len(h)-size))
		if got, want := m.Bytes(addr, size), h.want(addr, size); !bytes.Equal(got, want) ||
			(got == nil) != (want == nil) {
			t.Fatalf("%d bytes from %#x: %d read, want %d", size, addr, len(got), len(want))
		}
	}
	if m.Err != nil {
		t.Error(m.Err)
	}
}

// TestMemoryWords: words are those that were there when they were asked for, though reading goes on between them.
func TestMemoryWords(t *testing.T) {
	h := newHoled(2 * KeptPages)
	m := NewMemory(h, 1<<40)
	defer m.Close()
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		first, n := LowestAddress+random.Uint64N(uint64(len(h))/2), random.Uint64N(1200)
		seen := uint64(0)
		m.Words(first, n, func(i, word uint64) bool {
			want := h.want(first+8*i, 8)
			if i != seen || want == nil || binary.LittleEndian.Uint64(want) != word {
				t.Fatalf("word %d of %d from %#x: %#x, want number %d, % x", i, n, first, word, seen, want)
			}
			seen++
			for range 4 {
				m.Word(LowestAddress + random.Uint64N(uint64(len(h)-8)))
			}
			return true
		})
		if seen < n && h.want(first+8*seen, 8) != nil {
			t.Fatalf("%d words of %d from %#x, but the next can be read", seen, n, first)
		}
	}
}

// largeHoled is memory from lowestAddress on, of which every third page is missing. Its pages are of 65,536 bytes.
type largeHoled []byte

const largePage = 65536

func (h largeHoled) ReadAt(buf []byte, off int64) (n int, err error) {
	for n < len(buf) {
		at := off + int64(n)
		if at/largePage%3 == 0 || at < LowestAddress || at-LowestAddress >= int64(len(h)) {
			return n, io.EOF
		}
		n += copy(buf[n:min(n+int(largePage-at%largePage), len(buf))], h[at-LowestAddress:])
	}
	return n, nil
}

// TestMemoryOfLargePages: a machine's pages may be larger than those that are kept. All that is there is read.
func TestMemoryOfLargePages(t *testing.T) {
	h := largeHoled(newHoled(40 * largePage / PageSize))
	m := NewMemory(h, 1<<40)
	defer m.Close()
	random := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		size := 1 + random.IntN(3*PageSize)
		addr := LowestAddress + random.Uint64N(uint64(len(h)-size))
		if random.IntN(4) == 0 {
			m.Ahead([]uint64{addr / PageSize, addr/PageSize + 1, addr/PageSize + 2})
		}
		want := h[addr-LowestAddress:][:size]
		if addr/largePage%3 == 0 || (addr+uint64(size)-1)/largePage%3 == 0 {
			want = nil
		}
		if got := m.Bytes(addr, size); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes from %#x: %d read, want %d", size, addr, len(got), len(want))
		}
	}
}

func TestMemoryEnds(t *testing.T) {
	h := newHoled(40)
	m := NewMemory(h, 4*PageSize)
	for page := uint64(0); page < 20; page++ {
		m.Word(LowestAddress + page*PageSize)
	}
	if m.Err != errBytes {
		t.Errorf("20 pages were read with a limit of 4: %v", m.Err)
	}
	m.Close()
	if m.Bytes(LowestAddress+PageSize, 8) != nil {
		t.Error("something was read after close")
	}
}

// TestFilePages: pages of files that are not in memory are not read, except for descriptions; others are, swapped ones
// included.
func TestFilePages(t *testing.T) {
	const first = LowestAddress / PageSize
	states := map[uint64]uint64{first + 1: PagePresent, first + 2: 0, first + 3: PageSwapped, first + 4: 0,
		first + 5: 0, first + 6: PagePresent}
	pagemap := make([]byte, 8*(first+8))
	for page, state := range states {
		binary.LittleEndian.PutUint64(pagemap[8*page*PageSize/uint64(os.Getpagesize()):], state)
	}
	text := bytes.Repeat([]byte("text\x00..."), 8*PageSize/8)
	read := map[uint64]bool{}
	from := readerAt(func(buf []byte, at int64) (int, error) {
		for page := at / PageSize; page*PageSize < at+int64(len(buf)); page++ {
			read[uint64(page)] = true
		}
		return copy(buf, text[at-LowestAddress:]), nil
	})
	m := NewMemory(from, 1<<40)
	defer m.Close()
	m.Files = FilePages{bytes.NewReader(pagemap), []Block{{(first + 1) * PageSize, 3 * PageSize}},
		[]Block{{first * PageSize, 5 * PageSize}, {(first + 5) * PageSize, leastMapping}}}
	m.Ahead([]uint64{first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6})
	for page := uint64(first); page < first+7; page++ {
		want := page != first+2 && page != first+5
		if got := m.Word(page*PageSize) != 0; got != want || read[page] != want {
			t.Errorf("page %d: read %v, asked for %v, want %v", page-first, got, read[page], want)
		}
	}
	for range 2 {
		if got := m.Bytes((first+5)*PageSize, PageSize); !bytes.Equal(got, make([]byte, PageSize)) {
			t.Errorf("a page that nobody has touched is %.16q…", got)
		}
		if got := m.cString((first+2)*PageSize, 16); got != "text" {
			t.Errorf("a name there is %q", got)
		}
	}
}

// readerAt is a function as [io.ReaderAt].
type readerAt func(buf []byte, at int64) (int, error)

func (f readerAt) ReadAt(buf []byte, at int64) (int, error) { return f(buf, at) }

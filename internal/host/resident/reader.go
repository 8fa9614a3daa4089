package resident

import (
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"time"
)

const (
	ahead     = 64 << 10 // bytes that are read at once
	mostPages = 1 << 24  // pages of a mapping, 64 GiB; larger ones are not read
	patience  = 40       // elapsed time may be this many times the limit of processor time
)

// span is the range of addresses [start, end).
type span struct{ start, end uint64 }

// reader reads the resident memory of one mapping after another.
type reader struct {
	memory, pagemap io.ReaderAt
	page            uint64               // the size of a page in bytes
	left            int64                // bytes that may still be read
	used            func() time.Duration // processor time
	until           time.Duration        // the limit of used
	deadline        time.Time
	ended           <-chan struct{}
	stopped         bool // a limit was hit

	at    uint64  // the address of the loaded mapping
	pages []uint8 // the states of its pages
	zero  uint64  // the frame of Linux's page of zeros; 0 if it is not known
	from  uint64  // the address of the first byte in have
	have  []byte  // memory that was read
	buf   []byte
	steps int    // calls of over
	ahead uint64 // bytes that are read at once
}

func newReader(s Source, limits Limits) *reader {
	page := cmp.Or(s.PageSize, uint64(os.Getpagesize()))
	return &reader{used: limits.Used, until: limits.Used() + limits.Time, memory: s.Memory, pagemap: s.Pages,
		page: page, left: limits.Bytes,
		deadline: time.Now().Add(patience * limits.Time), ended: limits.Ended, buf: make([]byte, max(ahead, page)),
		ahead: max(ahead, page)}
}

// load makes a mapping the present one, and finds out which of its pages are resident. It returns false if it cannot.
func (r *reader) load(m mapping) bool {
	count := (m.end - m.start) / r.page
	if r.over() || count > mostPages {
		r.stopped = true
		return false
	}
	r.at, r.have, r.pages = m.start, nil, make([]uint8, count)
	raw, states := make([]byte, 8*min(count, 64<<10)), pageStates{reader: r}
	for done := uint64(0); done < count; {
		if r.late() { // checked often, because mappings may be large and many
			return false
		}
		part := raw[:8*min(count-done, uint64(len(raw)/8))]
		if n, _ := r.pagemap.ReadAt(part, int64((m.start/r.page+done)*8)); n != len(part) {
			return false
		}
		for i := range len(part) / 8 {
			states.take(done+uint64(i), binary.LittleEndian.Uint64(part[8*i:]))
		}
		done += uint64(len(part) / 8)
	}
	states.end(m.resident / r.page)
	return true
}

// over reports whether a limit was hit. Reading the time takes long, so only one in period calls does it.
func (r *reader) over() bool {
	const period = 4096
	r.steps++
	if r.steps%period == 1 {
		r.late() // sets stopped
	}
	if r.left <= 0 {
		r.stopped = true
	}
	return r.stopped
}

// late stops the reader if its time is over. It reports whether the reader is stopped, for this or another reason.
func (r *reader) late() bool {
	select {
	case <-r.ended:
		r.stopped = true
	default:
		r.stopped = r.stopped || r.used() > r.until || time.Now().After(r.deadline)
	}
	return r.stopped
}

// isResident reports whether the page that contains an address is resident.
func (r *reader) isResident(addr uint64) bool {
	i := (addr - r.at) / r.page
	return addr >= r.at && i < uint64(len(r.pages)) && r.pages[i] != absent
}

// word reads the 8 bytes at an address. ok is false if the address is no multiple of 8, the bytes are not resident, or
// a limit was hit.
func (r *reader) word(addr uint64) (w uint64, ok bool) {
	if addr&7 != 0 {
		return 0, false
	}
	if addr < r.from || addr+8 > r.from+uint64(len(r.have)) {
		if r.over() || !r.fill(addr) {
			return 0, false
		}
	}
	return binary.LittleEndian.Uint64(r.have[addr-r.from:]), true
}

// fill reads the page that contains an address, and the resident pages directly behind it, into have. It reads at most
// r.ahead bytes.
func (r *reader) fill(addr uint64) bool {
	first := addr &^ (r.page - 1)
	size := uint64(0)
	for size < r.ahead && r.isResident(first+size) {
		size += r.page
	}
	r.have = nil
	if size == 0 {
		return false
	}
	n, _ := r.memory.ReadAt(r.buf[:size], int64(first))
	r.left -= int64(size)
	if n &^= int(r.page) - 1; n <= 0 {
		return false
	}
	r.from, r.have = first, r.buf[:n]
	return true
}

// CopyResident reads the memory at an address into buf. Pages that are not resident are not read; they are zeros.
func (r *reader) CopyResident(at uint64, buf []byte) {
	clear(buf)
	if r.memory == nil || r.pagemap == nil {
		return
	}
	first, end := at&^(r.page-1), at+uint64(len(buf))
	entries := make([]byte, 8*((end-first+r.page-1)/r.page))
	if n, _ := r.pagemap.ReadAt(entries, int64(first/r.page*8)); n != len(entries) {
		return
	}
	isPresent := func(i int) bool {
		return i < len(entries)/8 && binary.LittleEndian.Uint64(entries[8*i:])&present != 0
	}
	for i := 0; i < len(entries)/8; i++ {
		run := i
		for isPresent(i) {
			i++
		}
		if run < i && !r.over() {
			from, to := max(at, first+uint64(run)*r.page), min(end, first+uint64(i)*r.page)
			r.left -= int64(to - from)
			_, _ = r.memory.ReadAt(buf[from-at:to-at], int64(from))
		}
	}
}

// Over, Late and Stop are those of [allocators.Memory].
func (r *reader) Over() bool { return r.over() }

// Late is described at Over.
func (r *reader) Late() bool { return r.late() }

// Stop is described at Over.
func (r *reader) Stop() { r.stopped = true }

// residentIn returns the number of resident bytes in spans that do not overlap. Of a page that is only partly in a
// span, only that part counts.
func (r *reader) residentIn(spans ...span) (bytes uint64) {
	for _, s := range spans {
		for s.start < s.end {
			next := min(s.end, s.start&^(r.page-1)+r.page)
			if r.isResident(s.start) {
				bytes += next - s.start
			}
			s.start = next
		}
	}
	return bytes
}

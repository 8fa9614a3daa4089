package resident

import (
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"time"
)

const (
	ahead = 64 << 10

	patience = 40 // times as long as its processor time may reading take
)

// span is the addresses [start, end).
type span struct{ start, end uint64 }

// reader reads one mapping's memory, where it is resident.
type reader struct {
	memory, pagemap io.ReaderAt
	page            uint64               // bytes of one
	left            int64                // bytes that it may still read
	used            func() time.Duration // processor time
	until           time.Duration        // by used
	deadline        time.Time
	ended           <-chan struct{}
	stopped         bool // a limit was hit

	at    uint64  // of the mapping
	pages []uint8 // states of its pages
	zero  uint64  // the frame of Linux's page of zeros; 0 where it is not known
	from  uint64  // the address of the first byte in have
	have  []byte
	buf   []byte
	steps int
	ahead uint64 // bytes that are read at a time
}

func newReader(s Source, limits Limits) *reader {
	page := cmp.Or(s.PageSize, uint64(os.Getpagesize()))
	return &reader{used: limits.Used, until: limits.Used() + limits.Time, memory: s.Memory, pagemap: s.Pages,
		page: page, left: limits.Bytes,
		deadline: time.Now().Add(patience * limits.Time), ended: limits.Ended, buf: make([]byte, max(ahead, page)),
		ahead: max(ahead, page)}
}

// load finds out which pages of a mapping are resident.
func (r *reader) load(m mapping) bool {
	const most = 1 << 24 // pages: 64 GiB
	count := (m.end - m.start) / r.page
	if r.over() || count > most {
		r.stopped = true
		return false
	}
	r.at, r.have, r.pages = m.start, nil, make([]uint8, count)
	raw, states := make([]byte, 8*min(count, 64<<10)), pageStates{reader: r}
	for done := uint64(0); done < count; {
		if r.late() { // a mapping may be large, and there may be many
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

// over reports whether a limit was hit. To look at the time takes long, so only some calls do.
func (r *reader) over() bool {
	const period = 4096 // calls for each look at the time
	r.steps++
	if r.steps%period == 1 {
		r.late() // sets stopped
	}
	if r.left <= 0 {
		r.stopped = true
	}
	return r.stopped
}

// late stops the reader if the time is over. It reports whether the reader is stopped, by this or another limit.
func (r *reader) late() bool {
	select {
	case <-r.ended:
		r.stopped = true
	default:
		r.stopped = r.stopped || r.used() > r.until || time.Now().After(r.deadline)
	}
	return r.stopped
}

// isResident reports whether the page of an address is resident.
func (r *reader) isResident(addr uint64) bool {
	i := (addr - r.at) / r.page
	return addr >= r.at && i < uint64(len(r.pages)) && r.pages[i] != absent
}

// word reads 8 bytes; ok is false where they are not resident or a limit was hit. An address is a multiple of 8.
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

// fill reads the page of an address into have, with the resident pages right behind it: at most r.ahead bytes in all.
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

// residentIn returns the sum of the spans' resident bytes. If a span has a part of a page, only that part counts. Spans
// must not overlap.
func (r *reader) residentIn(all ...span) (bytes uint64) {
	for _, s := range all {
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

package resident

import (
	"encoding/binary"
	"io"
	"maps"
	"strings"
	"testing"
)

// TestPageSizes: pools of Python's are found within a page that is larger than one. malloc gives back whole pages only,
// and what it maps by itself has whole pages.
func TestPageSizes(t *testing.T) {
	const heapAt, mappedAt, poolsAt = 0x555500000000, 0x7f1000000000, 0x7f2000000000
	smaps := `555500000000-555500040000 rw-p 00000000 00:00 0 [heap]
Rss: 256 kB
Anonymous: 256 kB
7f1000000000-7f1000021000 rw-p 00000000 00:00 0
Rss: 132 kB
Anonymous: 132 kB
7f2000000000-7f2000020000 rw-p 00000000 00:00 0
Rss: 128 kB
Anonymous: 128 kB
`
	heap, mapped, pools := make([]byte, 256<<10), make([]byte, 132<<10), make([]byte, 128<<10)
	put := func(in []byte, at int, words ...uint64) {
		for i, word := range words {
			binary.LittleEndian.PutUint64(in[at+8*i:], word)
		}
	}
	put(heap, 0, 0, 0x5000|inUseBefore)            // in use
	put(heap, 0x5000, 0, 0x19000|inUseBefore)      // free
	put(heap, 0x1e000, 0x19000, 0x2000)            // in use
	put(heap, 0x20000, 0, 0x20000|inUseBefore)     // the top
	put(mapped, 0, 0, uint64(132<<10)|isMapped)    // a block of whole pages of 4 KiB
	for at := 0; at < len(pools); at += 16 << 10 { // of 100 blocks of 32 bytes
		put(pools, at, 100, 0, 0, 0, 1<<32, (16<<10-32)<<32|(48+100*32))
	}
	for page, want := range map[uint64]map[Kind]uint64{
		4096:  {Objects: 8 * 100 * 32, MallocBig: 132 << 10, "trim": 0x18000 + 0x1f000},
		65536: {Objects: 8 * 100 * 32, MallocBig: 0, "trim": 0x10000},
	} {
		memory := parts{heapAt: heap, mappedAt: mapped, poolsAt: pools}
		a, err := Explain(Source{Smaps: strings.NewReader(smaps), Memory: memory, Pages: same(present), Python: 11,
			PageSize: page}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[Kind]uint64{Objects: 0, MallocBig: 0, "trim": a.Trim}
		for _, part := range a.Parts {
			if _, ok := got[part.Kind]; ok {
				got[part.Kind] = part.Bytes
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("pages of %d bytes: %v, want %v (%+v)", page, got, want, a)
		}
	}
}

// parts is memory by its addresses.
type parts map[int64][]byte

func (p parts) ReadAt(buf []byte, off int64) (int, error) {
	for at, data := range p {
		if off >= at && off < at+int64(len(data)) {
			return copy(buf, data[off-at:]), nil
		}
	}
	return 0, io.EOF
}

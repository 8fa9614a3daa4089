package elffile

import (
	"bytes"
	"testing"

	"ipytracer/internal/hostile"
)

// FuzzLines: line programs with any contents end, and their results are bounded.
func FuzzLines(f *testing.F) {
	// DWARF 4: one directory, two files; set_address, rows, end. DWARF 5: a list of each.
	f.Add([]byte("\x39\x00\x00\x00\x04\x00\x1b\x00\x00\x00\x01\x01\x01\xfb\x0e\x0d\x00\x01\x01\x01\x01\x00\x00\x00"+
		"\x01\x00\x00\x01d\x00\x00a.c\x00\x01\x00\x00\x00"+
		"\x00\x09\x02\x00\x10\x00\x00\x00\x00\x00\x00\x13\x4b\x02\x04\x00\x01\x01"), []byte(""), uint64(0x1000))
	f.Add([]byte("\x40\x00\x00\x00\x05\x00\x08\x00\x20\x00\x00\x00\x01\x01\x01\xfb\x0e\x0d\x00\x01\x01\x01\x01\x00"+
		"\x00\x00\x01\x00\x00\x01\x01\x01\x1f\x01\x00\x00\x00\x00\x02\x01\x1f\x02\x0b\x01\x00\x00\x00\x00\x00"+
		"\x00\x09\x02\x00\x10\x00\x00\x00\x00\x00\x00\x13\x4b\x02\x04\x00\x01\x01"), []byte("/src\x00"), uint64(0x1001))
	hostile.Fuzz(f, 64<<20, func(t *testing.T, line, strings []byte, vaddr uint64) {
		in := func(section []byte) extent { return extent{bytes.NewReader(section), 0, uint64(len(section))} }
		table := &Lines{sections: lineSections{in(line), in(strings), in(strings)}}
		table.readAll(nil)
		if file, n := table.At(vaddr); n < 0 || len(file) > 3*4096+len(line) {
			t.Errorf("%d bytes, line %d", len(file), n)
		}
		for _, s := range table.sequences {
			table.At(s.start)
		}
	})
}

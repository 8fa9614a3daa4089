package elffile

import (
	"strings"
	"testing"
)

func TestBias(t *testing.T) {
	const base = 0x7f0000000000
	f := &File{segments: []Segment{
		{Vaddr: 0x0, Offset: 0, Size: 0x1800},
		{Vaddr: 0x2800, Offset: 0x1800, Size: 0x3000, Exec: true}, // shares a page of the file with both neighbours
		{Vaddr: 0x6800, Offset: 0x4800, Size: 0x1000},
		{Vaddr: 0x9000, Offset: 0x6000, Size: 0x1000, Exec: true},
	}}
	for _, test := range []struct {
		start, offset, bias uint64
		ok                  bool
	}{
		{base + 0x2000, 0x1000, base, true},
		{base + 0x3000, 0x2000, base, true}, // a later piece
		{base + 0x9000, 0x6000, base, true},
		{base, 0x0, 0, false}, // not executable
		{base, 0x8000, 0, false},
	} {
		if bias, ok := f.Bias(test.start, test.offset); ok != test.ok || bias != test.bias {
			t.Errorf("Bias(%#x, %#x) = %#x, %v, want %#x, %v", test.start, test.offset, bias, ok, test.bias, test.ok)
		}
	}
}

// TestBiasOfLargePages: the loader maps whole pages. The same file is mapped at other places where they are larger.
func TestBiasOfLargePages(t *testing.T) {
	const base = 0x7f0000000000
	all := Segments{{Vaddr: 0x32800, Offset: 0x21800, Size: 0x3000, Exec: true}}
	for page, test := range map[uint64]struct{ start, offset, bias uint64 }{
		4096:  {base + 0x32000, 0x21000, base},
		65536: {base + 0x30000, 0x20000, base},
	} {
		if bias, ok := all.bias(test.start, test.offset, page); !ok || bias != test.bias {
			t.Errorf("pages of %d bytes: %#x, %v", page, bias, ok)
		}
	}
	if _, ok := all.bias(base+0x30000, 0x20000, 4096); ok {
		t.Error("a mapping in front of the segment's page is not the segment's")
	}
}

// TestContents reads as much of a segment as the file has, whatever its header says.
func TestContents(t *testing.T) {
	f := &File{reader: strings.NewReader("0123456789"), room: Room{maxHeld}}
	for want, s := range map[string]Segment{
		"345": {Offset: 3, Size: 3}, "3456789": {Offset: 3, Size: 7}, "89": {Offset: 8, Size: 3},
		"789": {Offset: 7, Size: 1 << 40},
		"":    {Offset: 10, Size: 1}, "9": {Offset: 9, Size: 1 << 20},
	} {
		if got := string(f.Contents(s)); got != want {
			t.Errorf("%+v: %q, not %q", s, got, want)
		}
	}
	for _, s := range []Segment{{}, {Offset: 3}, {Offset: 1 << 63, Size: 1}, {Offset: 5, Size: 1<<64 - 1}} {
		if got := f.Contents(s); len(got) > 5 {
			t.Errorf("%+v: %q", s, got)
		}
	}
}

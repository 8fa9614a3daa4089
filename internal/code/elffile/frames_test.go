package elffile

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ipytracer/internal/hostile"
)

// openLibc opens the C library of a Debian.
func openLibc(t *testing.T) *File {
	t.Helper()
	libcs, _ := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if len(libcs) == 0 {
		t.Skip("no C library of Debian's")
	}
	libc, err := os.Open(libcs[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { libc.Close() })
	f, err := Open(AnyMachine{libc})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestIndexedFrames: entry by entry, the linker's sorted table leads to the file's call frame information.
func TestIndexedFrames(t *testing.T) {
	r, err := os.Open("/proc/self/exe") // of Go: it has .debug_frame alone, or nothing
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if f, err := Open(r); err != nil || ReadFrames(f, nil).header != 0 {
		t.Errorf("a table in a program of Go (%v)", err)
	}
	f := openLibc(t)
	with := ReadFrames(f, nil)
	if with.header == 0 || with.count < 1000 {
		t.Fatalf("%d entries in the table at %#x", with.count, with.header)
	}
	without := &Frames{file: f, indexOf: map[bool][]byte{}, ehFrame: f.headers.section(".eh_frame").address}
	without.indexSection(".eh_frame", false, nil)
	if uint64(len(without.indexed)) != with.count {
		t.Errorf("%d entries, %d in the table", len(without.indexed), with.count)
	}
	slices.SortFunc(without.indexed, func(a, b indexedEntry) int { return int(int64(a.start) - int64(b.start)) })
	signals := 0
	for _, x := range without.indexed {
		a, okA := with.At(x.start)
		b, okB := without.At(x.start)
		if okA != okB || a.Span != b.Span || string(a.Program) != string(b.Program) {
			t.Fatalf("%#x: %+v, %v with the table, %+v, %v without", x.start, a, okA, b, okB)
		}
		if !okA {
			signals++
		}
	}
	if signals > 10 {
		t.Errorf("%d entries are of signal handlers' frames", signals)
	}
	prepared := ReadFrames(f, nil)
	prepared.Prepare(64<<20, &Room{Bytes: 1 << 20}, func() bool { return false })
	if want := (with.count + blockPairs - 1) / blockPairs; uint64(len(prepared.marks)) != want {
		t.Fatalf("%d marks, want %d", len(prepared.marks), want)
	}
	first, last := without.indexed[0], without.indexed[len(without.indexed)-1]
	outside := []indexedEntry{{start: 0}, {start: first.start - 1}, {start: last.end}, {start: 1 << 60}}
	for _, at := range append(outside, without.indexed...) {
		for _, vaddr := range []uint64{at.start, at.start + 1, at.end - 1} {
			a, okA := prepared.At(vaddr)
			b, okB := with.At(vaddr)
			if okA != okB || a.Span != b.Span || string(a.Program) != string(b.Program) {
				t.Fatalf("%#x: %+v, %v prepared, %+v, %v as it is", vaddr, a, okA, b, okB)
			}
		}
	}
}

// lyingFile is a file with a table of call frame information that claims to have entries without end, all of which are
// the same.
type lyingFile struct{ reads, bytes int }

func (l *lyingFile) ReadAt(p []byte, _ int64) (int, error) {
	l.reads, l.bytes = l.reads+1, l.bytes+len(p)
	clear(p)
	return len(p), nil
}

// TestPrepareIsBounded: the sizes that a file claims decide neither how much is read nor how much is kept; a lookup in
// it ends.
func TestPrepareIsBounded(t *testing.T) {
	const limit = 64 << 20
	for _, room := range []int64{1 << 30, 1000, 0} {
		lies := &lyingFile{}
		f := &File{reader: lies, segments: []Segment{{Vaddr: 0, Size: 1 << 62}},
			headers: &headers{sections: []section{
				{name: ".eh_frame", kind: elf.SHT_PROGBITS, address: 1 << 40, size: 1 << 61}}}}
		frames := &Frames{file: f, header: 1 << 20, count: 1<<32 - 1}
		left := &Room{Bytes: room}
		frames.Prepare(limit, left, func() bool { return false })
		if lies.bytes > limit+prepareChunk || lies.reads > 2*maxMarks || len(frames.marks) > maxMarks+1 ||
			room-left.Bytes > 8*(maxMarks+1) {
			t.Errorf("%d reads of %d bytes, %d marks, %d bytes of room", lies.reads, lies.bytes, len(frames.marks),
				room-left.Bytes)
		}
		asked := 0
		lies.reads = 0
		(&Frames{file: f, header: 1 << 20, count: 1<<32 - 1}).Prepare(limit, &Room{Bytes: room},
			func() bool { asked++; return asked > 3 })
		if lies.reads > 3 {
			t.Errorf("%d reads, and it was over behind 3", lies.reads)
		}
		lies.reads = 0
		if _, ok := frames.At(1 << 50); ok || lies.reads > 100 {
			t.Errorf("found: %v, with %d reads", ok, lies.reads)
		}
	}
}

// ehFrame makes an .eh_frame of one common entry and one that refers to it.
func ehFrame(common, entry []byte) []byte {
	var out []byte
	put := func(id uint32, body []byte) {
		out = binary.LittleEndian.AppendUint32(out, uint32(4+len(body)))
		out = binary.LittleEndian.AppendUint32(out, id)
		out = append(out, body...)
	}
	put(0, common)
	put(uint32(len(out)+4), entry)
	return out
}

func TestEntries(t *testing.T) {
	const at = 0x10000
	entry := []byte("\x00\x10\x00\x00\x40\x00\x00\x00\x00\x42\x0e\x10")
	for _, test := range []struct {
		name, common string
		want, signal bool
	}{
		{"what compilers write", "\x01zR\x00\x01\x78\x10\x01\x1b\x0c\x07\x08", true, false},
		{"of a signal handler", "\x01zRS\x00\x01\x78\x10\x01\x1b\x0c\x07\x08", true, true},
		{"with a personality", "\x01zPLR\x00\x01\x78\x10\x07\x9b\x00\x00\x00\x00\x1b\x1b\x0c\x07\x08", true, false},
		{"with something unknown", "\x01zX\x00\x01\x78\x10\x01\x1b\x0c\x07\x08", false, false},
	} {
		found := false
		(&entrySource{data: ehFrame([]byte(test.common), entry), address: at}).each(func(e Entry, _ uint64) bool {
			start := at + uint64(4+4+len(test.common)+8) + 0x1000 // relative to the place where the entry has it
			found = e.Start == start && e.End == start+0x40 && e.Common.Signal == test.signal &&
				e.Common.DataAlign == -8
			return true
		})
		if found != test.want {
			t.Errorf("%s: found %v", test.name, found)
		}
	}
}

// FuzzEntries: with any contents of a section, reading it ends, and its ranges are such and in order.
func FuzzEntries(f *testing.F) {
	entry := []byte("\x00\x10\x00\x00\x40\x00\x00\x00\x00\x42\x0e\x10")
	f.Add(ehFrame([]byte("\x01zR\x00\x01\x78\x10\x01\x1b\x0c\x07\x08"), entry), uint64(0x10000))
	f.Add(ehFrame([]byte("\x01\x00\x01\x78\x10\x0c\x07\x08"), make([]byte, 24)), uint64(0))
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte, address uint64) {
		last := uint64(0)
		for _, s := range ranges(data, address) {
			if s.End <= s.Start || s.Start < last {
				t.Errorf("%+v behind %#x", s, last)
			}
			last = s.Start
		}
		frames := &Frames{indexOf: map[bool][]byte{true: data}}
		(&entrySource{data: data, debug: true}).each(func(e Entry, at uint64) bool {
			frames.indexed = []indexedEntry{{e.Start, e.End, at, true}}
			got, ok := frames.At(e.Start)
			if ok == e.Common.Signal || got.Span != e.Span {
				t.Errorf("%+v, %v, want %+v", got, ok, e)
			}
			return true
		})
	})
}

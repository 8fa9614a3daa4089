package cpython

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

func openFake(f fakeELF) (*Binary, error) {
	if f.Machine != elf.EM_X86_64 {
		return Open(bytes.NewReader(f.Bytes()))
	}
	return Open(elffile.AnyMachine{ReaderAt: bytes.NewReader(f.Bytes())})
}

func TestOpen(t *testing.T) {
	runtimeOf := func(size uint64) fakeELF {
		return fakeELF{Symbols: []fakeSymbol{fake(evalCodeSymbol, fakeText, 1, []byte{0xc3}),
			fake(runtimeSymbol, fakeText+64, size, nil)}}
	}
	other := runtimeOf(656)
	other.Machine = elf.EM_RISCV
	mismatch := fakePython(0x030d05f0, false)
	mismatch.Symbols[0].Data = elftest.Word32(0x030e00f0)
	wild := fakePython(0x030d05f0, false)
	wild.Symbols[2].Data[8*9+2] = 0xff
	for _, test := range []struct {
		name    string
		elf     fakeELF
		version string
		err     error
		words   string // in the error
	}{
		{name: "3.9", elf: runtimeOf(656), version: "3.9"},
		{name: "3.10", elf: runtimeOf(672), version: "3.10"},
		{name: "3.11.2", elf: fakePython(0x030b02f0, false), version: "3.11.2"},
		{name: "3.13.5", elf: fakePython(0x030d05f0, false), version: "3.13.5"},
		{name: "3.15.0rc1", elf: fakePython(0x030f00c1, false), version: "3.15.0"},
		{name: "free-threaded", elf: fakePython(0x030e01f0, true), version: "3.14.1"},
		{name: "3.8", elf: runtimeOf(1464), err: ErrUnsupported, words: "only 3.9 to 3.15"},
		{name: "3.16", elf: fakePython(0x031000f0, false), err: ErrUnsupported, words: "3.16.0"},
		{name: "2.7", elf: fakeELF{Symbols: []fakeSymbol{fake(evalCodeSymbol, fakeText, 1, nil)}}, err: ErrUnsupported,
			words: "older than 3.7"},
		{name: "another machine", elf: other, err: ErrUnsupported, words: "EM_RISCV"},
		{name: "two versions", elf: mismatch, err: ErrUnsupported, words: "debug offsets"},
		{name: "wild offsets", elf: wild, err: ErrUnsupported, words: "out of range"},
		{name: "not Python", elf: fakeELF{Symbols: []fakeSymbol{fake("main", fakeText, 1, nil)}}, err: ErrNotPython},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := openFake(test.elf)
			if !errors.Is(err, test.err) || test.err != nil && !strings.Contains(err.Error(), test.words) {
				t.Fatalf("Open: %v, want %v with %q", err, test.err, test.words)
			}
			if err == nil && b.Version().String() != test.version {
				t.Errorf("Version() = %v, want %s", b.Version(), test.version)
			}
		})
	}
	for _, junk := range []string{"", "#!/bin/sh\n", "\x7fELF", strings.Repeat("\x7fELF\x02\x01\x01", 100)} {
		if _, err := Open(strings.NewReader(junk)); !errors.Is(err, ErrNotPython) {
			t.Errorf("Open(%.10q): %v", junk, err)
		}
	}
}

// TestNewFreeThreaded: a build without the GIL that was never looked at is refused.
func TestNewFreeThreaded(t *testing.T) {
	b, err := openFake(fakePython(0x030f01f0, true))
	if err != nil {
		t.Fatal(err)
	}
	if !b.FreeThreaded() {
		t.Error("FreeThreaded() = false")
	}
	_, offsets := b.Offsets()
	_, sites := b.Sites()
	_, live := NewInterpreter(b, 0, bytes.NewReader(nil))
	for _, err := range []error{offsets, sites, live} {
		var u *UnsupportedError
		if !errors.Is(err, ErrUnsupported) || !errors.As(err, &u) || u.Version.Minor != 15 {
			t.Errorf("error = %v", err)
		}
	}
}

func TestVersionOfBuilds(t *testing.T) {
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		if v := bin.Version(); v.Major != 3 || v.Minor != b.minor || (v.Micro < 0) != (b.minor <= 10) {
			t.Errorf("Version() = %v, want 3.%d", v, b.minor)
		}
		if bin.RuntimeAddress() == 0 || bin.FreeThreaded() != strings.HasSuffix(b.name, "t") {
			t.Errorf("RuntimeAddress() = %#x, FreeThreaded() = %v", bin.RuntimeAddress(), bin.FreeThreaded())
		}
	})
}

// TestOffsetsAgree compares a build's offsets about itself with the table of its version.
func TestOffsetsAgree(t *testing.T) {
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		if b.minor < firstDebugOffsets || bin.FreeThreaded() {
			t.Skip("no debug offsets before 3.13, and no table of builds without the GIL")
		}
		got, err := bin.Offsets()
		if want := tableOffsets(b.minor); err != nil || got != want {
			t.Errorf("debug offsets %+v, %v\ntable %+v", got, err, want)
		}
	})
}

func TestOpenProgram(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if _, err := Open(f); !errors.Is(err, ErrNotPython) {
		t.Errorf("Open of this test: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(fakePython(0x030b02f0, false).Bytes())
	f.Add(fakePython(0x030d05f0, false, fake("PyOS_setsig", fakeText+0x200, 8,
		[]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xeb, 0x01, 0xc3})).Bytes())
	other := fakePython(0x030d05f0, false, fake("PyOS_setsig", fakeText+0x200, 8,
		[]byte{0x5f, 0x24, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6})) // bti c; ret
	other.Machine = elf.EM_AARCH64
	f.Add(other.Bytes())
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		b, err := Open(elffile.AnyMachine{ReaderAt: bytes.NewReader(data)})
		if err != nil {
			if !errors.Is(err, ErrNotPython) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("error of no kind: %v", err)
			}
			return
		}
		if _, err := b.Offsets(); err != nil && !errors.Is(err, ErrUnsupported) {
			t.Error(err)
		}
		s, err := b.Sites()
		if err == nil && s.EvalCode.Pushed < 0 {
			t.Errorf("%+v", s.EvalCode)
		}
	})
}

// TestFreeThreaded: the offsets that _Py_DebugOffsets does not have of builds without the GIL. Offsets by offsetof() in
// the headers of 3.13.5 and 3.14.6.
func TestFreeThreaded(t *testing.T) {
	const kindAndASCII, compact = 1 | 1<<4, 1 << 3
	for minor, first := range map[int]uint32{13: 2, 14: 8} {
		b, err := openFake(fakePython(uint32(3<<24|minor<<16|1<<8|0xf0), true))
		if err != nil {
			t.Fatal(err)
		}
		o, err := b.Offsets()
		if err != nil || !b.FreeThreaded() || !o.FreeThreaded {
			t.Fatalf("3.%d: %v", minor, err)
		}
		if o.ModuleDict != 32 || o.CodeVersion != 108 || o.BehindHeader(TypeBasicSize) != 48 ||
			o.BehindHeader(TypeDictOffset) != 304 {
			t.Errorf("3.%d: %+v", minor, o)
		}
		if kind, whole, ascii := o.Text((kindAndASCII | compact) << first); kind != 1 || !whole || !ascii {
			t.Errorf("3.%d: a str of %d bytes a character, compact %v, ASCII %v", minor, kind, whole, ascii)
		}
		live, err := NewInterpreter(b, 0, bytes.NewReader(make([]byte, 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := live.Heap(); !errors.Is(err, ErrUnsupported) {
			t.Errorf("3.%d: its objects can be walked: %v", minor, err)
		}
	}
}

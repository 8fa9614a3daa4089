package elffile_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

func small() elftest.File {
	return elftest.File{
		Symbols: []elftest.Symbol{
			{Name: "PyFirst", Addr: elftest.Text, Size: 2, Data: []byte{0x90, 0xc3}},
			{Name: "PySecond", Addr: elftest.Text + 16, Size: 1, Data: []byte{0xc3}},
			{Name: "variable", Addr: elftest.Text + 64, Size: 8, Data: []byte{1, 2}},
		},
		Frames: []elffile.Span{{Start: elftest.Base + elftest.Text, End: elftest.Base + elftest.Text + 2}},
	}
}

func TestImage(t *testing.T) {
	img, err := elffile.OpenImage(bytes.NewReader(small().Bytes()),
		func(name string) bool { return name != "PySecond" })
	if err != nil {
		t.Fatal(err)
	}
	const first, second = elftest.Base + elftest.Text, elftest.Base + elftest.Text + 16
	if fn, ok := img.Function("PyFirst"); !ok || fn.Value != first || fn.Size != 2 {
		t.Errorf("%+v, %v", fn, ok)
	}
	for _, name := range []string{"PySecond", "variable", "nothing"} {
		if _, ok := img.Function(name); ok {
			t.Errorf("%s is no function that was wanted", name)
		}
	}
	if !img.IsFunction(second) || img.IsFunction(second+1) || !img.Executable(second) || img.Executable(0) {
		t.Error("where functions begin")
	}
	if s, ok := img.Fragment(first + 1); !ok || s.Start != first || s.End != first+2 {
		t.Errorf("%+v, %v", s, ok)
	}
	if _, ok := img.Fragment(first + 2); ok {
		t.Error("a fragment behind the last one")
	}
	var code [2]byte
	if err := img.Read(first, code[:]); err != nil || code != [2]byte{0x90, 0xc3} {
		t.Errorf("% x, %v", code, err)
	}
	if off, ok := img.FileOffset(first); !ok || off != elftest.Text {
		t.Errorf("%#x, %v", off, ok)
	}
	if img.Read(1, code[:]) == nil {
		t.Error("read where there is nothing")
	}
	if v, ok := img.RelativePointee(elftest.Base + elftest.Text + 64); !ok || v != 0x201 {
		t.Errorf("%#x, %v", v, ok)
	}
}

// TestForeign: a file for another machine is recognized by name, and only its exports are looked at.
func TestForeign(t *testing.T) {
	f, other := small(), elf.EM_AARCH64
	if elffile.Native == other {
		other = elf.EM_X86_64
	}
	f.Machine = other
	raw := f.Bytes()
	_, err := elffile.Open(bytes.NewReader(raw))
	var foreign *elffile.ForeignError
	if !errors.As(err, &foreign) || foreign.Machine != other || !errors.Is(err, elffile.ErrNotELF) {
		t.Errorf("%v", err)
	}
	if !elffile.Defines(bytes.NewReader(raw), "PyFirst") || elffile.Defines(bytes.NewReader(raw), "PyThird") {
		t.Error("what it exports")
	}
	for _, junk := range []string{"", "#!/bin/sh\n", "\x7fELF", strings.Repeat("\x7fELF\x02\x01\x01", 100)} {
		if _, err := elffile.Open(strings.NewReader(junk)); !errors.Is(err, elffile.ErrNotELF) {
			t.Errorf("%q: %v", junk, err)
		}
	}
}

// FuzzImage: with any contents of a file, nothing panics, and everything that is found lies within it and in order.
func FuzzImage(f *testing.F) {
	f.Add(small().Bytes(), uint64(elftest.Base+elftest.Text))
	hostile.Fuzz(f, 64<<20, func(t *testing.T, raw []byte, vaddr uint64) {
		img, err := elffile.OpenImage(bytes.NewReader(raw), func(string) bool { return true })
		if err != nil {
			if !errors.Is(err, elffile.ErrNotELF) {
				t.Errorf("error of no kind: %v", err)
			}
			return
		}
		img.Relocate()
		if s, ok := img.Fragment(vaddr); ok && !s.Contains(vaddr) {
			t.Errorf("%#x is not in %+v", vaddr, s)
		}
		img.Pointee(vaddr)
		img.RelativePointee(vaddr)
		img.PointersTo(map[uint64]bool{vaddr: true})
		img.Bias(vaddr, vaddr>>12)
		img.OffsetTable([]string{"PyFirst"})
		elffile.Defines(bytes.NewReader(raw), "PyFirst")
		for _, s := range img.Segments() {
			if data := img.Contents(s); len(data) > len(raw) {
				t.Errorf("%d bytes of %d", len(data), len(raw))
			}
		}
	})
}

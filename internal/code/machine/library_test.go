package machine

import (
	"bytes"
	"debug/elf"
	"errors"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

const (
	firstAt   = codeAt
	secondAt  = fakeText + 0x100
	unnamedAt = fakeText + 0x400
	abortAt   = fakeText + 0x480
)

// fakeLibrary exports PyFirst and PySecond; hidden code is at unnamedAt, and a function without a way out at abortAt.
func fakeLibrary(t testing.TB, first, hidden []byte) *Library {
	t.Helper()
	f := elftest.File{
		Machine: elf.EM_X86_64,
		Symbols: []elftest.Symbol{
			{Name: "PyFirst", Addr: firstAt, Size: uint64(len(first)), Data: first},
			{Name: "PySecond", Addr: secondAt, Size: 2, Data: []byte{0x53, 0xc3}},
			{Name: "hidden", Addr: unnamedAt, Size: uint64(len(hidden)), Data: hidden},
			{Name: "abort", Addr: abortAt, Size: 2, Data: []byte{0x0f, 0x0b}},
		},
		Frames: []elffile.Span{
			{Start: fakeBase + unnamedAt, End: fakeBase + unnamedAt + uint64(len(hidden))},
			{Start: fakeBase + abortAt, End: fakeBase + abortAt + 2},
		},
	}
	l, err := OpenLibrary(elffile.AnyMachine{ReaderAt: bytes.NewReader(f.Bytes())}, "PyFirst", "PySecond")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTailCalls(t *testing.T) {
	type site struct {
		at       int
		register Register
	}
	nopRet := []byte{0x90, 0xc3}
	for _, test := range []struct {
		name          string
		first, hidden []byte
		want          []site
		complete      bool
	}{
		{"to hidden code, which is followed: jmp; there nop; ret", slices.Concat([]byte{0xe9}, rel32(unnamedAt, 5)),
			nopRet, []site{{unnamedAt, RAX}}, true},
		{"to a function that is seen itself: je; nop; ret",
			slices.Concat([]byte{0x0f, 0x84}, rel32(secondAt, 6), nopRet), nil, []site{{firstAt + 6, RAX}}, true},
		{"to who knows where: jmp rax", []byte{0x74, 2, 0x90, 0xc3, 0xff, 0xe0}, nil,
			[]site{{firstAt + 3, RAX}}, false},
		{"with something on the stack: push; jmp", slices.Concat([]byte{0x53, 0xe9}, rel32(secondAt, 6)),
			nil, nil, false},
		{"behind a call that never returns the stack is another: je; call abort; push; nop; pop; ret",
			slices.Concat([]byte{0x74, 6, 0x53, 0xe8}, rel32(abortAt, 8), []byte{0x53, 0x90, 0x5b, 0xc3}), nil,
			[]site{{firstAt + 9, RAX}}, true},
	} {
		l := fakeLibrary(t, test.first, test.hidden)
		sites, complete := l.Returns("PyFirst")
		var got []site
		for _, s := range sites {
			got = append(got, site{int(s.Address - fakeBase), s.Result})
		}
		if !slices.Equal(got, test.want) || complete != test.complete {
			t.Errorf("%s: %+v complete %v, want %+v %v", test.name, got, complete, test.want, test.complete)
		}
	}
}

func TestEndsOfFunctions(t *testing.T) {
	l := fakeLibrary(t, []byte{0x90, 0x74, 1, 0xc3, 0x31, 0xc0, 0xc3}, nil)
	sites, complete := l.Ends("PyFirst")
	if len(sites) != 2 || !complete || sites[0].Address != fakeBase+firstAt+3 ||
		sites[1].Address != fakeBase+firstAt+6 || sites[0].Result != RAX {
		t.Errorf("%+v, complete %v", sites, complete)
	}
	if sites, complete := l.Ends("PyNone"); sites != nil || complete {
		t.Error("the ends of no function")
	}
}

func TestSystemCalls(t *testing.T) {
	call, compare := []byte{0xb8, 9, 0, 0, 0, 0x0f, 0x05}, []byte{0x48, 0x3d, 0, 0xf0, 0xff, 0xff}
	for _, test := range []struct {
		name     string
		code     []byte
		at       uint64
		emulated bool
	}{
		{"cmp; ja", slices.Concat(call, compare, []byte{0x77, 1, 0xc3, 0xc3}), 13, true},
		{"the result is moved first", slices.Concat(call, []byte{0x48, 0x89, 0xc7}, compare,
			[]byte{0x77, 1, 0xc3, 0xc3}), 7, false},
		{"a loop comes back between: jmp to the ja", slices.Concat(call, compare, []byte{0x77, 0xfe, 0xc3}), 7, false},
		{"ret at once", slices.Concat(call, []byte{0xc3}), 7, false},
	} {
		sites := fakeLibrary(t, test.code, nil).SystemCalls("PyFirst")
		if len(sites) != 1 || sites[0].Address != fakeBase+firstAt+test.at || sites[0].Emulated != test.emulated {
			t.Errorf("%s: %+v", test.name, sites)
		}
	}
}

func TestStartOfAFunction(t *testing.T) {
	l := fakeLibrary(t, []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0xc3}, nil)
	if s := l.Start("PyFirst"); s.Address != fakeBase+firstAt+4 || !s.Emulated {
		t.Errorf("%+v", s)
	}
	if l.Has("PyNone") || l.Start("PyNone").Present() || l.Entry("PyNone", 1).Present() {
		t.Error("a function that is not there")
	}
}

// FuzzLibrary: no file makes it crash, and no place is outside of the file's code.
func FuzzLibrary(f *testing.F) {
	f.Add([]byte{0xe9, 0xfb, 0, 0, 0}, []byte{0x90, 0xc3})
	f.Add([]byte{0x74, 6, 0x53, 0xe8, 0x74, 2, 0, 0, 0x53, 0x90, 0x5b, 0xc3}, []byte{0x0f, 0x05, 0xc3})
	hostile.Fuzz(f, 64<<20, func(t *testing.T, first, hidden []byte) {
		if len(first) > 0x100 || len(hidden) > 0x80 {
			return
		}
		l := fakeLibrary(t, first, hidden)
		sites, _ := l.Returns("PyFirst")
		ends, _ := l.Ends("PyFirst")
		for _, s := range append(sites, ends...) {
			if !l.image.Executable(s.Address) || s.Pushed < 0 {
				t.Errorf("%+v", s)
			}
		}
		for _, s := range l.SystemCalls("PyFirst") {
			if !l.image.Executable(s.Address) {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestNoLibrary(t *testing.T) {
	for _, data := range []string{"", "\x7fELF", "#!/bin/sh"} {
		if _, err := OpenLibrary(bytes.NewReader([]byte(data)), "malloc"); !errors.Is(err, elffile.ErrNotELF) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

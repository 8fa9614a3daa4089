package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// library builds testdata/small.c.
func library(t *testing.T, flags ...string) string {
	t.Helper()
	return compile(t, "gcc", "small.c", append([]string{"-O2", "-shared", "-fPIC", "-nostdlib"}, flags...)...)
}

func open(t *testing.T, path string, debug Finder) *Module {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenModule(bytes.NewReader(raw), debug, &Room{Bytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// addresses are the file's own word on where its functions are.
func addresses(t *testing.T, path string) map[string]elf.Symbol {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]elf.Symbol{}
	for _, s := range symbols {
		out[s.Name] = s
	}
	return out
}

func TestSymbols(t *testing.T) {
	path := library(t, "-g")
	at := addresses(t, path)
	m := open(t, path, nil)
	for _, c := range []struct {
		vaddr uint64
		want  string
	}{
		{at["public_name"].Value, "public_name"}, // not other_name, which is weak
		{at["public_name"].Value + at["public_name"].Size - 1, "public_name"},
		{at["public_name"].Value - 1, ""}, // padding, or the end of something else
		{at["hidden"].Value, "hidden"},
		{at["no_size"].Value + 2, "no_size"},
		{at["no_size"].Value + 3, ""},
		{0, ""}, {^uint64(0), ""},
	} {
		if got := m.Place(c.vaddr).Function; got != c.want {
			t.Errorf("%#x is in %q, want %q", c.vaddr, got, c.want)
		}
	}
	middle := m.Place(at["public_name"].Value + at["public_name"].Size - 1)
	if filepath.Base(middle.File) != "small.c" || middle.Line < 9 || middle.Line > 14 {
		t.Errorf("public_name is in %s line %d", middle.File, middle.Line)
	}
}

// TestStripped: the remaining symbols name the code that they cover and nothing else; the stripped parts are found by
// build id and by name.
func TestStripped(t *testing.T) {
	path := library(t, "-g", "-Wl,--build-id")
	at := addresses(t, path)
	stripped, debug := filepath.Join(t.TempDir(), "small.so"), filepath.Join(t.TempDir(), "small.debug")
	for _, args := range [][]string{
		{"objcopy", "--only-keep-debug", path, debug},
		{"objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, path, stripped},
	} {
		if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, text)
		}
	}
	m := open(t, stripped, nil)
	if got := m.Place(at["hidden"].Value); got != (Place{}) {
		t.Errorf("hidden is %+v without its symbol", got)
	}
	if got := m.Place(at["public_name"].Value); got.Function != "public_name" {
		t.Errorf("public_name is %+v", got)
	}
	for _, by := range []string{"/usr/lib/debug/.build-id/", "/usr/lib/debug/small.debug"} {
		m := open(t, stripped, func(name string) (io.ReaderAt, error) {
			if !strings.HasPrefix(name, by) {
				return nil, os.ErrNotExist
			}
			return os.Open(debug)
		})
		if got := m.Place(at["hidden"].Value); got.Function != "hidden" || filepath.Base(got.File) != "small.c" ||
			got.Line == 0 {
			t.Errorf("%s: hidden is %+v", by, got)
		}
	}
	other := library(t, "-g", "-Wl,--build-id", "-O1")
	m = open(t, stripped, func(string) (io.ReaderAt, error) { return os.Open(other) })
	if got := m.Place(at["hidden"].Value); got != (Place{}) {
		t.Errorf("hidden is %+v by the symbols of another build", got)
	}
}

// TestOtherFrames: without the sorted table, and from .debug_frame alone, the rules are the same.
func TestOtherFrames(t *testing.T) {
	for _, flags := range [][]string{{"-Wl,--no-eh-frame-hdr"},
		{"-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}} {
		path := library(t, flags...)
		compareRules(t, path, open(t, path, nil))
	}
}

// compareRules wants the rules at the functions' first instructions to be those of every function: nothing is pushed
// yet.
func compareRules(t *testing.T, path string, m *Module) {
	t.Helper()
	for _, name := range []string{"public_name", "hidden"} {
		s := addresses(t, path)[name]
		if got := m.Rule(s.Value); got != (Rule{Base: SP, CFAOffset: 8}) {
			t.Errorf("%s begins with %+v", name, got)
		}
		if got := m.Rule(s.Value + s.Size + 64); got.Base != UnknownBase && got.Base != SP {
			t.Errorf("behind %s: %+v", name, got)
		}
	}
}

func TestDemangle(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZN2at6native10empty_cudaEN3c108ArrayRefIlEESt8optionalINS1_10ScalarTypeEE": "at::native::empty_cuda",

		"_ZN3c1022CachingAllocatorConfig8instanceEv":     "c10::CachingAllocatorConfig::instance",
		"_ZN5calls4PoolIfE4takeEm":                       "calls::Pool<float>::take",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
		"_RNvNtCs1234_7mycrate3foo3bar":                  "mycrate::foo::bar",
		"PyArray_NewFromDescr":                           "PyArray_NewFromDescr",
		"_Z":                                             "_Z",
		"":                                               "",
	} {
		if got := Demangle(mangled); got != want {
			t.Errorf("%s is %q, want %q", mangled, got, want)
		}
	}
	// A name that doubles with each letter.
	if got := Demangle("_Z1fI" + strings.Repeat("1AI", 2000) + strings.Repeat("E", 2001) + "vv"); len(got) > maxText {
		t.Errorf("%d bytes", len(got))
	}
	if got := Demangle(strings.Repeat("x", 1<<20)); len(got) > maxText {
		t.Errorf("%d bytes", len(got))
	}
}

// TestNoRoomForNames: without room there are rules, and neither names nor lines.
func TestNoRoomForNames(t *testing.T) {
	path := library(t, "-g")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenModule(bytes.NewReader(raw), nil, &Room{Bytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	at := addresses(t, path)["public_name"].Value
	if got := m.Place(at); got != (Place{}) {
		t.Errorf("%+v", got)
	}
	if got := m.Rule(at); got != (Rule{Base: SP, CFAOffset: 8}) {
		t.Errorf("%+v", got)
	}
}

func TestNotELF(t *testing.T) {
	for _, text := range []string{"", "#!/bin/sh\n", "\x7fELF", "\x7fELF\x01\x01\x01" + strings.Repeat("\x00", 100)} {
		if _, err := OpenModule(strings.NewReader(text), nil, &Room{}); !errors.Is(err, ErrNotELF) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

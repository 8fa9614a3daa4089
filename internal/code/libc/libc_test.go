package libc

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/hostile"
)

func TestIsLibc(t *testing.T) {
	for name, want := range map[string]bool{
		"/lib/x86_64-linux-gnu/libc.so.6": true, "/lib/x86_64-linux-gnu/libc-2.31.so": true,
		"/lib/ld-musl-x86_64.so.1": true,
		"/usr/lib/libc10.so":       false, "/usr/lib/libcap.so.2": false, "": false,
	} {
		if IsLibc(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// TestCallsReachTheFirstDefinition: calls reach the first definition of each name; C++'s operators those of the library
// that has malloc.
func TestCallsReachTheFirstDefinition(t *testing.T) {
	const new, delete = "_Znwm", "_ZdlPv"
	libc := []string{"calloc", "free", "malloc", "pvalloc", "realloc"}
	for _, test := range []struct {
		name          string
		defines, want [][]string
	}{
		{"C library", [][]string{nil, {new, delete}, libc}, [][]string{nil, nil, libc}},
		{"an allocator in front", [][]string{nil, {"free", "malloc", "calloc", "realloc", new, delete},
			{new, delete}, libc},
			[][]string{nil, {"free", "malloc", "calloc", "realloc", new, delete}, nil, {"pvalloc"}}},
		{"two allocators", [][]string{{"malloc", "free"}, {"malloc", "free", "calloc", new}},
			[][]string{{"malloc", "free"}, {"calloc"}}},
		{"nothing", nil, [][]string{}},
	} {
		got := Owned(test.defines)
		if !slices.EqualFunc(got, test.want, slices.Equal[[]string]) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestLibcs: of every C library on this machine, and in the other Pythons' systems, the ways out of the most important
// functions are known, and cheap.
func TestLibcs(t *testing.T) {
	elftest.EachTree(t, "here", func(t *testing.T, tree elftest.Tree) {
		root := tree.Root
		found := 0
		for _, path := range []string{"lib/*-linux-gnu/libc.so.6", "lib64/libc.so.6"} {
			files, _ := filepath.Glob(filepath.Join(root, path))
			for _, file := range files {
				f, err := os.Open(file)
				if err != nil {
					continue
				}
				defer f.Close()
				checkLibc(t, file, elffile.AnyMachine{ReaderAt: f})
				found++
			}
		}
		elftest.NeedFiles(t, root, found, "C library")
	})
}

// functionsOf are the functions for memory that a file defines.
func functionsOf(t *testing.T, f io.ReaderAt) []Function {
	t.Helper()
	defined, err := Defines(f)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := FindFunctions(f, defined)
	if err != nil {
		t.Fatal(err)
	}
	return functions
}

func checkLibc(t *testing.T, name string, f io.ReaderAt) {
	calls, err := FindCalls(f)
	if err != nil || len(calls.Mmap) == 0 || len(calls.Mremap) != 1 || !calls.Mmap[0].Emulated ||
		!calls.Mremap[0].Emulated {
		t.Errorf("%s: %+v %v", name, calls, err)
	}
	known := map[string]Function{}
	for _, fn := range functionsOf(t, f) {
		known[fn.Name] = fn
	}
	for _, want := range []string{"malloc", "calloc", "realloc", "posix_memalign"} {
		fn := known[want]
		// glibc 2.31 jumps through __malloc_hook
		hooks := bytes.Contains([]byte(name), []byte("bullseye")) && want != "posix_memalign"
		if !fn.Start.Present() || !fn.Complete && !hooks {
			t.Errorf("%s: %s: %+v", name, want, fn)
		}
	}
	if _, free := known["free"]; !free { // under whichever of its names
		if _, cfree := known["cfree"]; !cfree {
			t.Errorf("%s: no free", name)
		}
	}
}

// image is a process's memory made of words.
type image map[uint64]uint64

func (m image) ReadAt(p []byte, at int64) (int, error) {
	for i := 0; i+8 <= len(p); i += 8 {
		word, ok := m[uint64(at)+uint64(i)]
		if !ok {
			return i, errors.New("not mapped")
		}
		binary.LittleEndian.PutUint64(p[i:], word)
	}
	return len(p), nil
}

func (m image) put(at uint64, words ...uint64) {
	for i, w := range words {
		m[at+8*uint64(i)] = w
	}
}

func TestLinkOrder(t *testing.T) {
	loaders, _ := filepath.Glob("/lib*/ld-linux-*.so.*")
	if len(loaders) == 0 {
		t.Skip("no dynamic linker of glibc's")
	}
	loader, err := os.Open(loaders[0])
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	at, err := debugState(loader)
	if err != nil {
		t.Fatal(err)
	}
	const bias = 0x7f0000000000
	m := image{}
	m.put(bias+at, 1, 0x1000, 0, 0, 0)
	m.put(0x1000, 0, 0, 0xaaa, 0x2000)
	m.put(0x2000, 0, 0, 0xbbb, 0)
	if got, err := LinkOrder(m, loader, bias); err != nil || !slices.Equal(got, []uint64{0xaaa, 0xbbb}) {
		t.Errorf("%#x %v", got, err)
	}
	m.put(0x2000, 0, 0, 0xbbb, 0x1000) // round and round
	if got, err := LinkOrder(m, loader, bias); err != nil || len(got) != maxObjects {
		t.Errorf("%d %v", len(got), err)
	}
	m.put(0x2000, 0, 0, 0xbbb, 0x3000)
	if _, err := LinkOrder(m, loader, bias); !errors.Is(err, ErrUnsettled) {
		t.Errorf("a list that ends nowhere: %v", err)
	}
	m.put(bias+at, 1, 0x1000, 0, 1, 0)
	if _, err := LinkOrder(m, loader, bias); !errors.Is(err, ErrUnsettled) {
		t.Errorf("a list that is being added to: %v", err)
	}
	if _, err := LinkOrder(m, bytes.NewReader([]byte("\x7fELF")), bias); !errors.Is(err, ErrUnknown) {
		t.Errorf("no dynamic linker: %v", err)
	}
}

// FuzzFiles: no file makes anything crash.
func FuzzFiles(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	malloc := elftest.Symbol{Name: "malloc", Addr: elftest.Text, Size: 8, Function: true,
		Data: []byte{0x5f, 0x24, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6}} // bti c; ret
	f.Add(elftest.File{Machine: elf.EM_AARCH64, Symbols: []elftest.Symbol{malloc}}.Bytes())
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		r := elffile.AnyMachine{ReaderAt: bytes.NewReader(data)}
		if _, err := FindCalls(r); err != nil && !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := FindFunctions(r, Names()); err != nil && !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if _, err := LinkOrder(image{}, r, 0); err == nil {
			t.Error("an order of nothing")
		}
	})
}

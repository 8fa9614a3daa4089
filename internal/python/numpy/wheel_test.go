package numpy

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const wheelFile = "testdata/numpy-2.5.2-cp312-manylinux.so.bz2"

// unpackedWheel is the result of wheel.
var unpackedWheel = sync.OnceValues(func() ([]byte, error) {
	f, err := os.Open(wheelFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(bzip2.NewReader(f))
})

// wheel returns the part of NumPy 2.5.2 in testdata, as its own wheel has it.
func wheel(t testing.TB) []byte {
	t.Helper()
	data, err := unpackedWheel()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(data)
}

// TestWheel: the places are found in NumPy's own wheel.
func TestWheel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "_multiarray_umath.so")
	if err := os.WriteFile(file, wheel(t), 0o600); err != nil {
		t.Fatal(err)
	}
	checkBuild(t, file)
	pinSites(t, "wheel-312", file)
	sites, err := Find(bytes.NewReader(wheel(t)))
	if err != nil {
		t.Fatal(err)
	}
	// The calls of PyMem_RawMalloc, PyMem_RawCalloc, PyMem_RawRealloc and PyMem_RawFree that `objdump -d` shows in
	// alloc.c's functions, without the two of default_malloc and default_calloc for blocks of less than 1,024 bytes,
	// and those of npy_alloc_cache_dim and npy_free_cache_dim, which are of no array's data.
	if len(sites.Made) != 8 || len(sites.Freed) != 8 || len(sites.Resizing) != 2 || len(sites.Resized) != 2 ||
		len(sites.Handlers) != 1 {
		t.Errorf("%d made, %d freed, %d resizing, %d resized, %d handlers",
			len(sites.Made), len(sites.Freed), len(sites.Resizing), len(sites.Resized), len(sites.Handlers))
	}
}

// wheelChange is a change of one instruction of the wheel's code, at an address that is an offset in the file as well.
type wheelChange struct {
	name     string
	at       int
	was, is  string
	complain string
}

// wheelChanges make code that does something else.
var wheelChanges = []wheelChange{
	{"malloc's block of 1,024 bytes comes from a function that allocates", 0x175e53, "\xe8\x38\x54\xeb\xff",
		"\xe8\xd8\x00\x00\x00", "the call of the function at 0x175f30"},
	{"malloc's block comes through a pointer", 0x175e53, "\xe8\x38\x54\xeb\xff", "\xff\xd0\x90\x90\x90",
		"through a pointer at 0x175e53"},
	{"malloc asks for another size", 0x175e50, "\x48\x89\xf7", "\x48\x89\xc7",
		"how much the allocation at 0x175e53"},
	{"malloc's small blocks are larger", 0x175e09, "\x48\x81\xfe\xff\x03\x00\x00", "\x48\x81\xfe\xff\x07\x00\x00",
		"what comes behind the allocation at 0x175e2e"},
	{"free keeps larger blocks", 0x175cc3, "\x48\x81\xfa\xff\x03\x00\x00", "\x48\x81\xfa\xff\x07\x00\x00",
		"a way through the function at 0x175cc0"},
	{"free keeps blocks up to 16 MiB", 0x175cc3, "\x48\x81\xfa\xff\x03\x00\x00", "\x48\x81\xfa\xff\xff\xff\x00",
		"a way through the function at 0x175cc0"},
	{"free keeps blocks of 1,024 bytes", 0x175cc3, "\x48\x81\xfa\xff\x03\x00\x00", "\x48\x81\xfa\x00\x04\x00\x00",
		"a way through the function at 0x175cc0"},
	{"free keeps what is not small", 0x175cca, "\x77\x1c", "\x77\x30", "a way through the function at 0x175cc0"},
	{"calloc's small blocks are larger", 0x175d0d, "\x48\x81\xfd\xff\x03\x00\x00", "\x48\x81\xfd\xff\x07\x00\x00",
		"a way through the function at 0x175d00"},
	{"calloc's blocks are all small", 0x175d14, "\x77\x3a", "\x90\x90", "a way through the function at 0x175d00"},
	{"calloc calls what may do anything", 0x175d71, "\xe8\xda\x53\xeb\xff", "\xe8\x6a\x6e\xeb\xff",
		"a call of \"PyObject_IsTrue\""},
	{"npy_alloc_cache's small blocks are larger", 0x175f39, "\x48\x81\xff\xff\x03\x00\x00",
		"\x48\x81\xff\xff\x07\x00\x00", "a way through the function at 0x175f30"},
	{"npy_alloc_cache_zero's small blocks are larger", 0x17604d, "\x48\x81\xfd\xff\x03\x00\x00",
		"\x48\x81\xfd\xff\x07\x00\x00", "a way through the function at 0x176040"},
	{"npy_free_cache keeps larger blocks", 0x176184, "\x48\x81\xfe\xff\x03\x00\x00", "\x48\x81\xfe\xff\x07\x00\x00",
		"a way through the function at 0x176180"},
	{"a handler that is there may make nothing", 0x1764e2, "\x74\x5f", "\x75\x5f",
		"a way through the function at 0x1764c0"},
	{"realloc frees", 0x175dd7, "\xe8\x04\x6d\xeb\xff", "\xe8\x64\x60\xeb\xff", "realloc by PyMem_RawFree"},
	{"free frees nothing", 0x175ce8, "\xe9\x53\x61\xeb\xff", "\xc3\x90\x90\x90\x90",
		"a way through the function at 0x175cc0"},
	{"another block is reported", 0x175fcf - 8, "\x48\x89\xee", "\x48\x89\xde",
		"where a block comes from in the function at 0x175f30"},
	{"of another domain", 0x175fca, "\xbf\xb7\xef\x05\x00", "\xbf\xb8\xef\x05\x00",
		"which block the call of tracemalloc at 0x175fcf is about"},
	{"a block of a call that is not understood is reported", 0x1762e9, "\xe8\xa2\x4f\xeb\xff",
		"\xe8\x82\x66\xeb\xff", "where a block comes from in the function at 0x1762e0"},
	{"another block is gone than is freed", 0x1763b1, "\x48\x89\xfe", "\x48\x89\xf6",
		"where a block goes in the function at 0x1763b0"},
	{"a handler is called by another slot", 0x1764f4, "\xff\x90\x90\x00\x00\x00", "\xff\x90\xb0\x00\x00\x00",
		"where a block comes from in the function at 0x1764c0"},
	{"a domain of which one byte is known", 0x175f6c, "\x31\xff\x48\x89\xc6", "\x40\xb7\x00\x89\xc6",
		"which block the call of tracemalloc at 0x175f71 is about"},
	{"another variable is set", 0x17670d, "\x48\x8b\x3d", "\x48\x8d\x3d",
		"the context variable that is set at 0x176717"},
}

// TestWheelChanged: code that does something else is refused.
func TestWheelChanged(t *testing.T) {
	for _, c := range wheelChanges {
		t.Run(c.name, func(t *testing.T) {
			code := wheel(t)
			if len(c.was) != len(c.is) || string(code[c.at:c.at+len(c.was)]) != c.was {
				t.Fatalf("the wheel has % x at %#x", code[c.at:c.at+len(c.was)], c.at)
			}
			copy(code[c.at:], c.is)
			if _, err := Find(bytes.NewReader(code)); !errors.Is(err, ErrUnknown) ||
				!strings.Contains(err.Error(), c.complain) {
				t.Errorf("%v, want %q", err, c.complain)
			}
		})
	}
}

// TestWheelLargerCache: a larger cache is refused in each of the six functions with one, and the numbers of the
// cut-offs count to the last one.
func TestWheelLargerCache(t *testing.T) {
	cutoffs := []int{0x175cc6, 0x175d10, 0x175e0c, 0x175f3c, 0x176050, 0x176187}
	change := func(to uint32, at ...int) error {
		code := wheel(t)
		for _, at := range at {
			if binary.LittleEndian.Uint32(code[at:]) != Large-1 {
				t.Fatalf("no cut-off at %#x", at)
			}
			binary.LittleEndian.PutUint32(code[at:], to)
		}
		copy(code[0x175e8c:], "\xeb\xdb") // a block that malloc had kept goes another way, which no other block goes
		_, err := Find(bytes.NewReader(code))
		return err
	}
	if err := change(Large/2, cutoffs...); err != nil {
		t.Errorf("a smaller cache: %v", err)
	}
	if err := change(Large-1, cutoffs...); err != nil {
		t.Errorf("the same cache: %v", err)
	}
	for _, to := range []uint32{Large, 2*Large - 1, 1<<24 - 1, 1<<31 - 1} {
		for _, at := range [][]int{cutoffs, cutoffs[:1], cutoffs[1:2], cutoffs[2:3], cutoffs[3:4], cutoffs[4:5],
			cutoffs[5:]} {
			if err := change(to, at...); !errors.Is(err, ErrUnknown) {
				t.Errorf("blocks of up to %d bytes at %#x: %v", to, at, err)
			}
		}
	}
}

// TestSharedCode: a place that two functions share is there once.
func TestSharedCode(t *testing.T) {
	code := wheel(t)
	copy(code[0x1761ba:], assembled(0x1761ba, "\xe9", uint32(freeAt))) // npy_free_cache ends in PyDataMem_FREE
	sites, err := Find(bytes.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, s := range sites.Freed {
		if seen[s.Address] {
			t.Errorf("%#x is there twice", s.Address)
		}
		seen[s.Address] = true
	}
	if !seen[0x1763c5] || len(seen) != 7 {
		t.Errorf("%d places", len(seen))
	}
}

// Where the wheel has the pointers of its linkage table, and the table's entry for PyTraceMalloc_Track: `readelf -r`,
// `objdump -d`.
const (
	mallocPointer = 0x973130
	trackPointer  = 0x973cd8
	trackEntry    = 0x2c9e0
	newAt, freeAt = 0x1762e0, 0x1763b0 // PyDataMem_NEW and PyDataMem_FREE
	newSize       = 0x5c
)

// assembled puts parts of code behind each other; a uint32 is an address that the four bytes in its place refer to,
// from their end.
func assembled(at uint32, parts ...any) (code []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			code = append(code, p...)
		case uint32:
			code = binary.LittleEndian.AppendUint32(code, p-at-uint32(len(code))-4)
		}
	}
	return code
}

// replaceNew puts other code in the place of PyDataMem_NEW.
func replaceNew(file, function []byte) {
	for i := range file[newAt : newAt+newSize] {
		file[newAt+i] = 0x90 // nop
	}
	copy(file[newAt:newAt+newSize], function)
}

// TestWithoutPLT: calls through pointers to other libraries' functions are understood, and the place is behind those
// that lie between.
func TestWithoutPLT(t *testing.T) {
	// push rbp; mov rbp, rdi; push rbx; sub rsp, 8 … mov rdx, rbp; mov edi, 389047; mov rbx, rax; mov rsi, rax
	const begins, passes, ends = "\x55\x48\x89\xfd\x53\x48\x83\xec\x08",
		"\x48\x89\xea\xbf\xb7\xef\x05\x00\x48\x89\xc3\x48\x89\xc6",
		// cmp eax, -1; je; add rsp, 8; mov rax, rbx; pop rbx; pop rbp; ret
		"\x83\xf8\xff\x74\x00\x48\x83\xc4\x08\x48\x89\xd8\x5b\x5d\xc3"
	code := wheel(t)
	const nothing = "\x48\x83\xc4\x08\x48\x89\xd8\x5b\x5d\xc3" // the same without cmp and je
	replaceNew(code, assembled(newAt, begins, "\xff\x15", uint32(mallocPointer), passes, "\xff\x15",
		uint32(trackPointer), nothing))
	sites, err := Find(bytes.NewReader(code))
	if err != nil {
		t.Error(err)
	} else if i := slices.IndexFunc(sites.Made,
		func(s Site) bool { return s.Address == newAt+uint64(len(begins))+6 }); i < 0 || sites.Made[i].Emulated ||
		sites.Made[i].Block.Register != 0 || sites.Made[i].Size.Register != 5 {
		t.Errorf("no place right behind the call with the block in rax and the size in rbp: %+v", sites.Made)
	}
	for name, parts := range map[string][]any{
		"through pointers": {begins, "\xff\x15", uint32(mallocPointer), passes,
			"\xff\x15", uint32(trackPointer), ends},
		"through registers": {begins, "\x48\x8b\x05", uint32(mallocPointer), "\xff\xd0", passes, "\x48\x8b\x05",
			uint32(trackPointer), "\xff\xd0", ends},
	} {
		code := wheel(t)
		function := assembled(newAt, parts...)
		replaceNew(code, function)
		sites, err := Find(bytes.NewReader(code))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := uint64(newAt + len(function) - len(ends) + 3) // je
		if i := slices.IndexFunc(sites.Made, func(s Site) bool { return s.Address == want }); i < 0 ||
			!sites.Made[i].Emulated || sites.Made[i].Block.Register != 3 || sites.Made[i].Size.Register != 5 {
			t.Errorf("%s: no place at %#x with the block in rbx and the size in rbp: %+v", name, want, sites.Made)
		}
	}
}

// TestConditionalTailCall: a function that reports a block to tracemalloc by a jump on a condition is seen, though it
// is not understood.
func TestConditionalTailCall(t *testing.T) {
	code := wheel(t)
	// test rdi, rdi; jne PyTraceMalloc_Track; ret
	copy(code[freeAt:], assembled(freeAt, "\x48\x85\xff\x0f\x85", uint32(trackEntry),
		"\xc3"+strings.Repeat("\x90", 16)))
	if _, err := Find(bytes.NewReader(code)); !errors.Is(err, ErrUnknown) ||
		!strings.Contains(err.Error(), "the function at 0x1763b0") {
		t.Error(err)
	}
}

// TestSizeOnOneWay: where a large block may come to its free with something else in the place of its size, the size is
// not known there.
func TestSizeOnOneWay(t *testing.T) {
	// mov rdi, rsi; cmp rdx, 0x3ff; jbe small; cmp rdx, 0x100000; jbe free
	const begins, ends = "\x48\x89\xf7\x48\x81\xfa\xff\x03\x00\x00\x76\x12\x48\x81\xfa\x00\x00\x10\x00\x76\x04",
		"\xeb\x00\xe9" // jmp free; free: jmp PyMem_RawFree; small: ret
	const defaultFree, rawFree = 0x175cc0, 0x2be40
	for _, c := range []struct {
		between string
		known   bool
	}{{"\x31\xd2", false}, {"\x31\xc0", true}} { // xor edx, edx; xor eax, eax
		code := wheel(t)
		function := assembled(defaultFree, begins, c.between, ends, uint32(rawFree), "\xc3")
		copy(code[defaultFree:], append(function, bytes.Repeat([]byte{0x90}, 0x3d-len(function))...))
		sites, err := Find(bytes.NewReader(code))
		if err != nil {
			t.Fatal(err)
		}
		at := uint64(defaultFree + len(function) - 6)
		i := slices.IndexFunc(sites.Freed, func(s Site) bool { return s.Address == at })
		if i < 0 || (sites.Freed[i].HasSize || sites.Freed[i].MaybeSize) != c.known {
			t.Errorf("%x: the place is %d of %+v", c.between, i, sites.Freed)
		}
	}
}

package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostileNative allocates memory from code that is in no file, from a library that another one replaces at the same
// place, from a deleted one, and from more calls than the tracer keeps. It does each twice, so that the kernel has its
// rules the second time.
const hostileNative = `
import _ctypes, ctypes, mmap, os, time
directory = %q
track = ctypes.cast(ctypes.pythonapi.PyTraceMalloc_Track, ctypes.c_void_p).value

def take(function, size, *more):
    for again in 0, 1:
        function(ctypes.c_size_t(size), *more)
        time.sleep(.2)

def load(name):
    library = ctypes.CDLL(os.path.join(directory, "lib%%s.so" %% name))
    return library, getattr(library, name)

# push rbp (nothing says so); mov edi, 389047; mov rdx, size; mov rsi, address; mov rax, track; call rax; pop rbp; ret
def code(size, address):
    return (b"\x55\xbf" + (389047).to_bytes(4, "little") + b"\x48\xba" + size.to_bytes(8, "little")
            + b"\x48\xbe" + address.to_bytes(8, "little") + b"\x48\xb8" + track.to_bytes(8, "little")
            + b"\xff\xd0\x5d\xc3")
# stp x29, x30, [sp, -16]!; the same values into x0, x2, x1 and x9; blr x9; ldp x29, x30, [sp], 16; ret
def arm(size, address):
    def load(register, value):
        return [(0xf2800000 if at else 0xd2800000) | at << 21 | (value >> 16 * at & 0xffff) << 5 | register
                for at in range(4)]
    words = [0xa9bf7bfd, *load(0, 389047), *load(2, size), *load(1, address), *load(9, track),
             0xd63f0120, 0xa8c17bfd, 0xd65f03c0]
    return b"".join(word.to_bytes(4, "little") for word in words)
if os.uname().machine == "aarch64":
    code = arm
pages = [] # a new one each time: a processor may still know the code that was there
def generated(size):
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page.write(code(size.value, 0x1000_0000 + len(pages)))
    place = ctypes.addressof(ctypes.c_char.from_buffer(page))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(place), ctypes.c_size_t(mmap.PAGESIZE), 5) == 0
    pages.append(page)
    ctypes.CFUNCTYPE(None)(place)()
take(generated, 300_000)

places = []
for name, size in ("alpha", 310_000), ("gamma", 320_000), ("alpha", 330_000):
    library, function = load(name)
    places.append(ctypes.cast(function, ctypes.c_void_p).value)
    take(function, size, 1)
    _ctypes.dlclose(library._handle)
    time.sleep(.2)
if len(set(places)) > 1:
    raise SystemExit("the libraries are not loaded at one place: %%r" %% places)

library, function = load("alpha")
os.unlink(os.path.join(directory, "libalpha.so"))
take(function, 340_000, 2)
take(function, 350_000, 5000)
`

// TestHostileNative: for any code of a process, native frames are right or marked as unknown, and the figures are
// right.
func TestHostileNative(t *testing.T) {
	together(t)
	dir := t.TempDir()
	for _, name := range []string{"alpha", "gamma"} {
		build := exec.Command("gcc", "-O1", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-shared", "-fPIC",
			"-DFUNCTION="+name, "-Wl,--build-id=none",
			"-o", filepath.Join(dir, "lib"+name+".so"), filepath.Join(workloads, "swap.c"))
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	// --small-arrays, because the cell calls PyTraceMalloc_Track itself.
	r, cell := hostileCell(t, fmt.Sprintf(hostileNative, dir), "--budget", "off", "--native", "--small-arrays")
	checkSums(t, r)
	got := map[string]taken{} // by the innermost calls, and alone those that are unknown or have a size of their own
	for _, a := range cell.Allocations {
		if a.Meter != "cpu.numpy" {
			continue
		}
		var names []string
		for _, f := range nativeFrames(a.Stack) {
			names = append(names, f.Function)
		}
		size := a.Allocated / a.Count
		key := strings.Join(names[:min(len(names), 2)], " ")
		if key == "? ?" || size > 330_000 {
			key = fmt.Sprint(size, " ", key)
		}
		got[key] = taken{got[key].bytes + a.Allocated, got[key].count + a.Count}
		if n := len(names); n > 129 || len(a.Stack) == n ||
			a.Stack[n].Function != "take" && a.Stack[n].Function != "generated" {
			t.Errorf("%d bytes: %d native frames, then %v", size, n, a.Stack[n:])
		}
		if n := len(names); size == 350_000 && (n < 100 || names[n-1] != "?") {
			t.Errorf("5,000 calls deep: %d frames, the last is %s", n, names[n-1])
		}
	}
	// Where the machine is busy, the first allocations in new code come before its rules: these are unknown, but never
	// all of one code.
	for _, early := range []struct {
		size int64
		in   string
		most int64
	}{{300_000, "[anon] ?", 1}, {310_000, "alpha alpha", 2}, {320_000, "gamma gamma", 1}} {
		key := fmt.Sprint(early.size, " ? ?")
		if one, ok := got[key]; ok && one.count <= early.most {
			got[early.in] = taken{got[early.in].bytes + one.bytes, got[early.in].count + one.count}
			delete(got, key)
		}
	}
	want := map[string]taken{"[anon] ?": {600_000, 2}, "alpha alpha": {1_280_000, 4}, "gamma gamma": {640_000, 2},
		"340000 alpha alpha": {680_000, 2}, "350000 alpha alpha": {700_000, 2}}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// taken are allocations of some calls.
type taken struct{ bytes, count int64 }

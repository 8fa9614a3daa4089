package resident

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/model"
)

// jemallocScript makes blocks of many sizes, frees most of them, and prints jemalloc's own figures. It runs a line of
// code that it is given, and prints the resident memory then.
const jemallocScript = `
import ctypes, json, mmap, sys, threading
je = ctypes.CDLL(sys.argv[1])
def stat(name):
    size = ctypes.c_size_t(8)
    value, epoch = ctypes.c_size_t(), ctypes.c_uint64(1)
    je.mallctl(b"epoch", None, None, ctypes.byref(epoch), ctypes.c_size_t(8))
    if je.mallctl(name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)):
        raise OSError(name)
    return value.value
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * mmap.PAGESIZE
def make():
    ptr = lambda n: (ctypes.memset(p := malloc(n), 1, n), p)[1]
    blocks = [ptr(n) for n in range(8, 14000, 7) for _ in range(9)]
    blocks += [ptr(n << 10) for n in range(16, 400)]
    for i, p in enumerate(blocks):
        if i % 5 or i % 900 < 300:
            free(p)
malloc, free = je.malloc, je.free
malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
make()
made = threading.Event()
threading.Thread(target=lambda: (make(), made.set(), threading.Event().wait()), daemon=True).start()
made.wait()     # the thread stays: jemalloc purges the arena of a thread that ends, later
figures = {name: stat("stats." + name) for name in ("allocated", "active", "metadata", "resident")}
print(json.dumps(figures | {"before": resident(), "minor": sys.version_info.minor}), flush=True)
exec(sys.stdin.readline())
print(json.dumps({"after": resident()}), flush=True)
sys.stdin.read()
`

// TestJemalloc compares with jemalloc's own figures, and with the fall of resident memory when it gives memory back.
// Another jemalloc may be named by TRACER_JEMALLOC.
func TestJemalloc(t *testing.T) {
	needRoot(t)
	library := cmp.Or(os.Getenv("TRACER_JEMALLOC"), "libjemalloc.so.2")
	for _, preloaded := range []bool{false, true} {
		t.Run(fmt.Sprint("preloaded ", preloaded), func(t *testing.T) {
			if preloaded {
				t.Setenv("LD_PRELOAD", library)
			}
			t.Setenv("MALLOC_CONF", "dirty_decay_ms:-1,muzzy_decay_ms:-1")
			t.Setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384")
			t.Setenv("LD_LIBRARY_PATH", filepath.Dir(library))
			p := start(t, "/usr/bin/python3", "-c", jemallocScript, library)
			var said struct {
				Allocated, Active, Metadata, Before, After uint64
				Minor                                      int
			}
			p.next(t, &said)
			a := p.account(t, said.Minor)
			near := func(what string, got, want, by uint64) {
				if got+by < want || got > want+by {
					t.Errorf("%s: %d, jemalloc says %d: %+v", what, got, want, a)
				}
			}
			// less pages of its own data and of blocks that were never used
			near("given out", a.of(Jemalloc), said.Allocated+said.Metadata, said.Metadata)
			var kept Part
			for _, part := range a.Parts {
				if part.Kind == JemallocFree {
					kept = part
				}
			}
			near("kept in slabs", kept.Bytes-kept.Returns, said.Active-said.Allocated, said.Active/20)
			if kept.File != filepath.Base(library) || a.of(Other) > 4<<20 {
				t.Errorf("%+v", a)
			}
			part := model.ResidentPart{Kind: string(kept.Kind), File: kept.File}
			fmt.Fprintln(p.in, part.GiveBack())
			p.next(t, &said)
			near("fell", kept.Returns, said.Before-said.After, kept.Returns/50)
			t.Logf("%+v %+v", said, a)
		})
	}
}

const blockAlign = 2 << 20

// trickery is memory in which each block of jemalloc's base allocator claims to be whole, and each word is a record of
// an extent, or a leaf's word for one. It counts the bytes that are read.
type trickery struct {
	start, size uint64
	read        int64
}

func (m *trickery) ReadAt(buf []byte, off int64) (int, error) {
	m.read += int64(len(buf))
	for i := 0; i+8 <= len(buf); i += 8 {
		at := uint64(off) + uint64(i)
		var w uint64
		switch block := at &^ (blockAlign - 1); at - block {
		case 0:
			w = m.start + m.size - block // to the end of the mapping
		case 16:
			w = 0xfff
		case 24:
			w = m.start + m.size
		case 8, 32:
		default:
			record := m.start + at*31%m.size&^(64-1)
			w = []uint64{1 << 12, record &^ 4095, at, record | 1, 1 << 62, record, record | 1, ^uint64(0)}[at/8%8]
		}
		binary.LittleEndian.PutUint64(buf[i:], w)
	}
	return len(buf), nil
}

// TestHostileJemalloc: memory made to look like jemalloc's costs no more reads than the limit, and counts once.
func TestHostileJemalloc(t *testing.T) {
	const start, size, limit = 0x7f0000000000, 64 << 20, 32 << 20
	for _, first := range []uint64{start, start + blockAlign/2, start - 4096} {
		m := &trickery{start: start, size: size}
		smaps := fmt.Sprintf("%x-%x rw-p 00000000 00:00 0 \nRss: %d kB\nAnonymous: 1 kB\n", first, start+size, size>>10)
		a, err := Explain(Source{Smaps: strings.NewReader(smaps), Memory: m, Pages: same(present), PageSize: 4096,
			Python: 11}, Limits{Bytes: limit, Time: time.Minute})
		sum := uint64(0)
		for _, part := range a.Parts {
			sum += part.Bytes
			if part.Returns > part.Bytes {
				t.Errorf("%+v", part)
			}
		}
		if err != nil || sum != a.Total || a.Complete || m.read > limit+4<<20 {
			t.Errorf("%v: %d of %d bytes, complete %v, %d bytes read", err, sum, a.Total, a.Complete, m.read)
		}
	}
}

// TestLibraryOf: only names that are safe in code name an allocator's library.
func TestLibraryOf(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/lib/libjemalloc.so.2": "libjemalloc.so.2", "libjemalloc-5.3+x_1.so": "libjemalloc-5.3+x_1.so",
		`/x/libjemalloc.so");import os#`: "", "/x/libjemalloc\n.so": "", "/x/libjemalloc/libc.so.6": "",
		"/x/libjemalloc" + strings.Repeat("x", 99): "", "": "", "/x/libjemallocé": "",
	} {
		if got := libraryOf(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestUnlinked: mapped files in /dev/shm, and deleted ones, are parts of their own by the beginning of their name, and
// no more than there is room for.
func TestUnlinked(t *testing.T) {
	var smaps strings.Builder
	at := 0x7f0000000000
	add := func(perms, file string, kilobytes int) {
		fmt.Fprintf(&smaps, "%x-%x %s 00000000 00:1a 14 %s\nRss: %d kB\nAnonymous: 0 kB\nSwap: 8 kB\n"+
			"Private_Hugetlb: 4 kB\nShared_Hugetlb: 4 kB\n", at, at+1<<20, perms, file, kilobytes)
		at += 2 << 20
	}
	add("rw-s", "/dev/shm/joblib_memmapping_folder_12_ab/1.pkl (deleted)", 64)
	add("rw-s", "/dev/shm/joblib_memmapping_folder_12_ab/2.pkl (deleted)", 32)
	add("rw-s", "/dev/shm/psm_9a8b", 16)
	add("r--p", "/data/a file (deleted)", 8)
	add("r--p", "/var/tmp/#1234 (deleted)", 4)
	add("rw-s", "/memfd:x (deleted)", 4)
	add("rw-s", "/dev/zero (deleted)", 4)
	add("r--p", "/data/kept.npy", 4)
	a, err := Explain(Source{Smaps: strings.NewReader(smaps.String())}, Limits{})
	want := []Part{
		{Kind: Files, Bytes: 4 << 10, File: "/var/tmp/… (deleted)"},
		{Kind: Files, Bytes: 8 << 10, File: "…/a… (deleted)"}, {Kind: Files, Bytes: 4 << 10},
		{Kind: Shared, Bytes: 96 << 10, File: "/dev/shm/joblib_… (deleted)"},
		{Kind: Shared, Bytes: 16 << 10, File: "/dev/shm/psm_…"}, {Kind: Shared, Bytes: 8 << 10},
	}
	if err != nil || !slices.Equal(a.Parts, want) || a.Swapped != 8*8<<10 || a.Huge != 8*8<<10 {
		t.Errorf("%v: %+v, want %+v", err, a, want)
	}
	for n := range 1000 {
		add("rw-s", "/dev/shm/"+strings.Repeat("x", n%200)+string(rune('a'+n%26))+"_\x1b[31m (deleted)", 4)
	}
	a, err = Explain(Source{Smaps: strings.NewReader(smaps.String())}, Limits{})
	if sum := uint64(0); err != nil || len(a.Parts) > 2*maxNamed+2 {
		t.Errorf("%v: %d parts", err, len(a.Parts))
	} else {
		for _, p := range a.Parts {
			if sum += p.Bytes; len(p.File) > 64 || strings.Contains(p.File, "\x1b") {
				t.Errorf("%q", p.File)
			}
		}
		if sum != a.Total {
			t.Errorf("%d of %d bytes", sum, a.Total)
		}
	}
}

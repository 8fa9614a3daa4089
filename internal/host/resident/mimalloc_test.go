package resident

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// mimallocScript makes blocks of many sizes in a mimalloc, frees most of them, and prints the sizes of the others. It
// runs a line of code that it is given, and prints the resident memory then.
const mimallocScript = `
import ctypes, json, mmap, sys
mi = ctypes.CDLL(sys.argv[1])
malloc, free, usable = mi.mi_malloc, mi.mi_free, mi.mi_usable_size
malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
usable.argtypes, usable.restype = [ctypes.c_void_p], ctypes.c_size_t
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * mmap.PAGESIZE
def block(n):
    p = malloc(n)
    ctypes.memset(p, 1, n)
    return p
sizes = [n for n in range(8, 14000, 7) for _ in range(9)] + [n << 10 for n in range(16, 400)] + [40 << 20, 20 << 20]
blocks = [block(n) for n in sizes]
left = usable(blocks[-1])
for i, p in enumerate(blocks[:-1]):
    if i % 5 and i % 900 > 300 or i > 18100:
        free(p)
    else:
        left += usable(p)
print(json.dumps({"used": left, "before": resident(), "minor": sys.version_info.minor}), flush=True)
exec(sys.stdin.readline())
print(json.dumps({"after": resident()}), flush=True)
sys.stdin.read()
`

// TestMimalloc compares with the blocks that a program holds in a mimalloc, and with the fall of resident memory when
// it gives memory back. Another mimalloc may be named by TRACER_MIMALLOC.
func TestMimalloc(t *testing.T) {
	needRoot(t)
	library := cmp.Or(os.Getenv("TRACER_MIMALLOC"), "libmimalloc.so.2")
	if out, err := exec.Command("/usr/bin/python3", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])",
		library).CombinedOutput(); err != nil {
		t.Skipf("there is no mimalloc: %s", out)
	}
	p := start(t, "/usr/bin/python3", "-c", mimallocScript, library)
	var said struct {
		Used, Before, After uint64
		Minor               int
	}
	p.next(t, &said)
	a := p.account(t, said.Minor)
	near := func(what string, got, want, by uint64) {
		if got+by < want || got > want+by {
			t.Errorf("%s: %d, mimalloc says %d: %+v", what, got, want, a)
		}
	}
	near("given out", a.of(Mimalloc), said.Used, said.Used/50)
	var kept Part
	for _, part := range a.Parts {
		if part.Kind == MimallocFree {
			kept = part
		}
	}
	if !strings.HasPrefix(kept.File, filepath.Base(library)) || a.of(Other) > 1<<20 {
		t.Errorf("%+v", a)
	}
	part := model.ResidentPart{Kind: string(kept.Kind), File: kept.File}
	fmt.Fprintln(p.in, part.GiveBack())
	p.next(t, &said)
	near("fell", kept.Returns, said.Before-said.After, kept.Returns/7) // 2.0.9 leaves some pages of segments in use
	t.Logf("%+v %+v", said, a)
}

package e2e

import (
	"bytes"
	"compress/bzip2"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// wheelPrelude loads the machine code of NumPy's own wheel, which is extracted from it, and calls its functions by
// their addresses in the file. Without NumPy's own import nothing else takes blocks.
const wheelPrelude = `import ctypes, sys
path, at = %q, %s
libc, api = ctypes.CDLL(None), ctypes.pythonapi
libc.dlopen.restype = ctypes.c_void_p
assert libc.dlopen(path.encode(), 1) # RTLD_LAZY: what it would need of BLAS is not called
base = int(next(l for l in open('/proc/self/maps') if path in l).split('-')[0], 16)
size, block, object = ctypes.c_size_t, ctypes.c_void_p, ctypes.py_object
def function(name, *arguments, result=block): return ctypes.PYFUNCTYPE(result, *arguments)(base + at[name])
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = [block, block, block], object
name = ctypes.create_string_buffer(b'mem_handler')
handler = api.PyCapsule_New(base + at["default_handler"], ctypes.addressof(name), None)
def variable(name): return ctypes.c_void_p.from_address(base + at[name])
api.PyContextVar_New.argtypes, api.PyContextVar_New.restype = [ctypes.c_char_p, object], block
variable("current_handler").value = api.PyContextVar_New(b'current_handler', handler)
new = function("PyDataMem_UserNEW", size, object)
zeros = function("PyDataMem_UserNEW_ZEROED", size, size, object)
renew = function("PyDataMem_UserRENEW", block, size, object)
free = function("PyDataMem_UserFREE", block, size, object, result=None)
set_handler = function("PyDataMem_SetHandler", object, result=object)
take, take_zeros = function("PyDataMem_NEW", size), function("PyDataMem_NEW_ZEROED", size, size)
again, give = function("PyDataMem_RENEW", block, size), function("PyDataMem_FREE", block, result=None)
cached, cached_zeros = function("npy_alloc_cache", size), function("npy_alloc_cache_zero", size, size)
give_back = function("npy_free_cache", block, size, result=None)
def threads(f):
    import threading
    all = [threading.Thread(target=f) for _ in range(4)]
    for t in all: t.start()
    for t in all: t.join()
def churn():
    for n in range(200):
        a, b = new(1024 + n, handler), zeros(n, 100, handler)
        a = renew(a, 3000 + n, handler); free(b, 100 * n, handler); free(a, 3000 + n, handler)
`

// wheelSteps are statements, with the change that each makes to the bytes in NumPy's blocks of at least 1,024 bytes.
var wheelSteps = []struct {
	statement string
	delta     int64
}{
	{"a = new(5000, handler)", 5000},
	{"b = zeros(1000, 8, handler)", 8000},
	{"c = new(1023, handler); d = new(1024, handler)", 1024},
	{"e = zeros(1023, 1, handler); f = zeros(1, 1024, handler)", 1024},
	{"a = renew(a, 100_000, handler)", 95_000},
	{"a = renew(a, 1 << 30, handler)", 1<<30 - 100_000},
	{"assert not renew(a, 1 << 60, handler) and not new(1 << 60, handler) and not zeros(1 << 30, 1 << 33, handler)", 0},
	{"assert not zeros((1 << 40) + 1, (1 << 40) + 1, handler) and not take_zeros((1 << 40) + 1, " +
		"(1 << 40) + 1) and not take(1 << 60)", 0},
	{"a = renew(a, 500, handler)", -(1 << 30)},
	{"a = renew(a, 5 << 20, handler)", 5 << 20},
	{"free(a, 5 << 20, handler); free(b, 8000, handler); free(c, 1023, handler); free(d, 1024, handler); " +
		"free(e, 1023, handler); free(f, 1024, handler)", -(5<<20 + 8000 + 1024 + 1024)},
	{"g = take(70_000); h = take_zeros(333, 1000); i = take(100)", 403_000},
	{"h = again(h, 444_000); g = again(g, 2000)", 111_000 - 68_000},
	{"assert not again(h, 1 << 60)", 0},
	{"give(g); give(h); give(i)", -446_000},
	{"j = cached(5 << 20); k = cached(2000); l = cached(1000)", 5<<20 + 2000},
	{"m = cached_zeros(3, 1000); n = cached_zeros(10, 10); o = cached_zeros(5000, 1000)", 5_003_000},
	{"give_back(j, 5 << 20); give_back(k, 2000); give_back(l, 1000); give_back(m, 3000); give_back(n, 100); " +
		"give_back(o, 5_000_000)", -(5<<20 + 2000 + 5_003_000)},
	{"set_handler(handler)", 0},
	{"import tracemalloc; tracemalloc.start()", 0},
	{"a, b = new(5000, handler), zeros(1000, 8, handler); " +
		"c, d, e, f = take(6000), take_zeros(7, 1000), cached(9000), cached_zeros(2, 5000)", 45_000},
	{"a = renew(a, 20_000, handler); c = again(c, 30_000)", 39_000},
	{"free(a, 20_000, handler); free(b, 8000, handler); give(c); give(d); give_back(e, 9000); give_back(f, 10_000)",
		-84_000},
	{"tracemalloc.stop()", 0},
	{"threads(churn)", 0},
	{"p = new(1 << 20, handler)", 1 << 20},
}

// wheelSymbols are the addresses of the functions and variables in NumPy 2.5.2's wheel for CPython 3.12, by its symbol
// table, which testdata lacks.
var wheelSymbols = map[string]uint64{
	"default_handler": 0x97f940, "current_handler": 0x996a88, "PyDataMem_SetHandler": 0x1766d0,
	"PyDataMem_UserNEW": 0x176440, "PyDataMem_UserNEW_ZEROED": 0x1764c0, "PyDataMem_UserRENEW": 0x176620,
	"PyDataMem_UserFREE": 0x176560,
	"PyDataMem_NEW":      0x1762e0, "PyDataMem_NEW_ZEROED": 0x176340, "PyDataMem_RENEW": 0x1763d0,
	"PyDataMem_FREE":  0x1763b0,
	"npy_alloc_cache": 0x175f30, "npy_alloc_cache_zero": 0x176040, "npy_free_cache": 0x176180,
}

// TestWheelsNumPy compares cpu.numpy of the code in the wheels of pip, to the byte, on every way through it, with
// tracemalloc and without. With NUMPY_BUILDS it also checks the builds of scripts/numpy-builds.sh, as far as they have
// symbols.
func TestWheelsNumPy(t *testing.T) {
	together(t)
	wheel := unpacked(t, "../internal/python/numpy/testdata/numpy-2.5.2-cp312-manylinux.so.bz2")
	t.Run("wheel", func(t *testing.T) {
		r := traceWheel(t, wheel, wheelSymbols)
		checkWheel(t, r)
		if sites := probesOf(r, "numpy"); !strings.Contains(sites, "20 places in _multiarray_umath") {
			t.Errorf("probes on %s", sites)
		}
	})
	t.Run("not understood", func(t *testing.T) {
		other := bytes.Clone(wheel)
		copy(other[0x1762f3:], "\x29\xff") // sub edi, edi for xor edi, edi, which only the analysis distinguishes
		r := traceWheel(t, other, wheelSymbols)
		for _, p := range r.Certificate.Probes {
			if p.Name == "numpy" &&
				(!strings.Contains(p.Dear, "which block the call of tracemalloc at 0x1762fb is about") ||
					p.CostNS < int64(p.Hits)*100 || p.Hits < 100) {
				t.Errorf("the certificate has %+v", p)
			}
		}
		checkUntold(t, r)
	})
	t.Run("small arrays", func(t *testing.T) { checkUntold(t, traceWheel(t, wheel, wheelSymbols, "--small-arrays")) })
	builds, err := filepath.Glob(filepath.Join(os.Getenv("NUMPY_BUILDS"), "*.so"))
	if err != nil || os.Getenv("NUMPY_BUILDS") == "" {
		return
	}
	for _, file := range builds {
		code, symbols := symbolsOf(t, file)
		if len(symbols) < len(wheelSymbols) {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) { checkWheel(t, traceWheel(t, code, symbols)) })
	}
}

// symbolsOf reads a build, and the addresses in it of the functions that a test calls.
func symbolsOf(t *testing.T, file string) (code []byte, symbols map[string]uint64) {
	t.Helper()
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		t.Fatal(err)
	}
	symbols = map[string]uint64{}
	all, _ := f.Symbols()
	for _, s := range all {
		if _, called := wheelSymbols[s.Name]; called {
			symbols[s.Name] = s.Value
		}
	}
	return code, symbols
}

// traceWheel traces the test's steps in a Python that finds this code as NumPy's first library.
func traceWheel(t *testing.T, code []byte, symbols map[string]uint64, flags ...string) *model.Report {
	t.Helper()
	dir := t.TempDir()
	suffix, err := exec.Command(python(), "-c",
		"import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	module, wrapper := filepath.Join(dir, "numpy/_core/_multiarray_umath"+strings.TrimSpace(string(suffix))),
		filepath.Join(dir, "python")
	if err := os.MkdirAll(filepath.Dir(module), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{module: code,
		wrapper: fmt.Appendf(nil, "#!/bin/sh\nPYTHONPATH='%s' exec %s \"$@\"\n", dir, python())} {
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at, err := json.Marshal(symbols)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(wheelSteps))
	for i, s := range wheelSteps {
		lines[i] = s.statement
	}
	return traceStatements(t, "", wrapper, fmt.Sprintf(wheelPrelude, module, at), lines,
		append(flags, "--budget", "off")...)
}

// checkWheel compares every step's difference.
func checkWheel(t *testing.T, r *model.Report) {
	t.Helper()
	consumed, exact := arrayLines(r)
	first := 1 + strings.Count(wheelPrelude, "\n")
	for i, s := range wheelSteps {
		if got, ok := consumed[first+i]; !ok || got != s.delta || !exact[first+i] {
			t.Errorf("%s: %+d bytes, exact %v; want %+d", s.statement, got, exact[first+i], s.delta)
		}
	}
	checkSums(t, r)
	if sites := probesOf(r, "numpy"); strings.Contains(sites, "PyTraceMalloc_Track") {
		t.Errorf("probes on %s", sites)
	}
}

// checkUntold checks that no figure is exact with the probes on PyTraceMalloc_Track, because this NumPy does not report
// all its blocks to tracemalloc, and that the certificate says so.
func checkUntold(t *testing.T, r *model.Report) {
	t.Helper()
	_, exact := arrayLines(r)
	first := 1 + strings.Count(wheelPrelude, "\n")
	for i, s := range wheelSteps {
		if is, ok := exact[first+i]; !ok || is {
			t.Errorf("%s: exact %v, there %v", s.statement, is, ok)
		}
	}
	said := func(text string) bool { return strings.Contains(text, "NumPy of 2.5 or newer") }
	if r.Certificate.Complete || !slices.ContainsFunc(r.Certificate.Problems, said) {
		t.Errorf("the certificate is complete: %v, and has %q", r.Certificate.Complete, r.Certificate.Problems)
	}
	if sites := probesOf(r, "numpy"); !strings.Contains(sites, "PyTraceMalloc_Track") {
		t.Errorf("probes on %s", sites)
	}
}

// unpacked returns the content of a file compressed by bzip2.
func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(bzip2.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

package tracer

import (
	"compress/bzip2"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// hasWheel lets the target map the code of NumPy 2.5.2's wheel, with other bytes in one place.
func (h *fakeHost) hasWheel(t *testing.T, at int, other string) process.Mapping {
	t.Helper()
	f, err := os.Open("../internal/python/numpy/testdata/numpy-2.5.2-cp312-manylinux.so.bz2")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, err := io.ReadAll(bzip2.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	copy(code[at:], other)
	name := filepath.Join(t.TempDir(), "_multiarray_umath.cpython-312-"+elffile.Triplet+".so")
	if err := os.WriteFile(name, code, 0o600); err != nil {
		t.Fatal(err)
	}
	return h.has(t, name)
}

// TestUncountedArrays: where the probes on PyTraceMalloc_Track serve a NumPy that reports some blocks to tracemalloc
// only while it runs, numpy misses them, which is reported once; where those in NumPy serve, nothing is missed.
func TestUncountedArrays(t *testing.T) {
	if elffile.Native != elf.EM_X86_64 {
		t.Skip("the wheel's code is for x86-64")
	}
	for _, c := range []struct {
		name          string
		small, missed bool
		at            int
		other         string
	}{
		{"all blocks count", true, true, 0, ""},
		{"the code is not understood", false, true, 0x1762f3, "\x29\xff"}, // sub edi, edi for xor edi, edi
		{"the code is understood", false, false, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &fakeHost{}
			i, _ := tracking(h)
			i.Small = c.small
			m := h.hasWheel(t, c.at, c.other)
			for since := range event.Nanoseconds(3) {
				i.Meet(tracee.Listing{Since: since}, m)
			}
			if missed := len(h.missed) == 1 && strings.Contains(h.missed[0], "NumPy of 2.5 or newer") &&
				slices.Equal(h.meters, []event.Meter{event.NumPy}); missed != c.missed || len(h.missed) > 1 {
				t.Errorf("%v are missed: %q", h.meters, h.missed)
			}
			i.Close()
		})
	}
}

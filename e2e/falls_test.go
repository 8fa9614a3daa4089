package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/model"
)

// TestFalls types what a report says under "to free it" where blocks lie in malloc's heap, in Python's pools, or are
// not in memory. Only glibc's malloc is asked to return its free memory.
func TestFalls(t *testing.T) {
	together(t)
	jemalloc := filepath.Join("/usr/lib", elffile.Triplet, "libjemalloc.so.2")
	for name, want := range map[string]struct {
		trimmed bool
		falls   int64 // of all entries, at least
	}{
		"heap":    {trimmed: true, falls: 180 << 20},
		"between": {trimmed: true, falls: 60 << 20},
		"floats":  {falls: 150 << 20},
		"views":   {falls: 60 << 20}, // malloc keeps up to 5 MiB of it
		"empty":   {falls: 30 << 20},

		"unpickled": {falls: 79 << 20},

		"images":   {trimmed: true, falls: 115 << 20},
		"canvases": {falls: 160 << 20},
		"hashes":   {falls: 80 << 20},

		"between jemalloc": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book, other, _ := strings.Cut(name, " ")
			at := place{driver: "run_freed.py"}
			if other != "" {
				at.otherAllocator = true // and gives back nothing by itself
				at.env = []string{"LD_PRELOAD=" + jemalloc, "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1"}
			}
			w := startWorkload(t, at, []string{book})
			tr := attach(t, w.pid, "--budget", "off", "--record", filepath.Join(t.TempDir(), "run.arrows"))
			w.run()
			r, _ := tr.stop()
			sum, trimmed := int64(0), false
			for _, f := range r.ToFree {
				sum, trimmed = sum+f.Falls(), trimmed || f.Trimmed
			}
			if trimmed != want.trimmed || sum < want.falls {
				t.Errorf("entries: %+v; they free %d bytes", r.ToFree, sum)
			}
			if other == "" { // jemalloc gives memory back after a while
				w.typeAll(r.ToFree)
			} else {
				w.givesBack(r)
			}
		})
	}
}

// givesBack types what makes jemalloc give back what it keeps.
func (w *workload) givesBack(r *model.Report) {
	w.t.Helper()
	for _, resident := range r.Resident {
		for _, p := range resident.Parts {
			if p.Kind != "jemalloc-free" || resident.PID != w.pid {
				continue
			}
			if p.Returns < 8<<20 {
				w.t.Errorf("only %d bytes are kept: %+v", p.Returns, resident)
			}
			w.fallsBy(model.Freeing{Type: p.GiveBack(), Resident: &p.Returns, Exact: true})
			return
		}
	}
	w.t.Errorf("nothing is said of jemalloc: %+v", r.Resident)
}

// typeAll types entries in their order. The user goes on working before.
func (w *workload) typeAll(entries []model.Freeing) {
	w.t.Helper()
	w.again("later = 2")
	for _, f := range entries {
		if f.Resident == nil || f.Trims == nil {
			w.t.Errorf("%q: nothing is known of resident memory", f.Type)
			continue
		}
		w.fallsBy(f)
	}
}

// fallsBy types an entry into a cell of its own, and reads the resident memory before and after: it falls by as much as
// was said, within 5 % or 2 MiB.
func (w *workload) fallsBy(f model.Freeing) {
	w.t.Helper()
	before := residentNow(w.t, w.pid)
	w.again(f.Type)
	fell, said := before-residentNow(w.t, w.pid), f.Falls()
	w.t.Logf("said %8.2f MiB, fell %8.2f: objects %.2f, stays %.2f: %s", mebibytes(said), mebibytes(fell),
		mebibytes(f.Predicted), mebibytes(f.Stays), f.Type)
	slack := max(said/20, 2<<20)
	if fell < said-slack || f.Exact && fell > said+slack {
		w.t.Errorf("%q: said to free %d bytes, resident memory fell by %d", f.Type, said, fell)
	}
}

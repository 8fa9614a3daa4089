package tracer

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// arrowLibrary compiles a substitute for Arrow's library, and returns a mapping of it.
func (h *fakeHost) arrowLibrary(t *testing.T, flags ...string) process.Mapping {
	t.Helper()
	name := filepath.Join(t.TempDir(), "libarrow.so.2500")
	args := append([]string{"-shared", "-fPIC", "-O2", "-std=c++17", "-o", name,
		"../internal/code/libc/testdata/pools.cpp"},
		flags...)
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
			t.Skip(err)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	if h.files == nil {
		h.files = map[process.FileID]string{}
	}
	m := process.Mapping{Path: name, Perm: process.Exec, File: process.FileID{Inode: uint64(len(h.files) + 1)}}
	h.files[m.File] = name
	return m
}

// TestArrowInstrument: a library that a target has mapped is probed once, frees first and entries last; it has joined
// late unless it is in the target's first listing. The budget takes the probes out and puts them back.
func TestArrowInstrument(t *testing.T) {
	h := &fakeHost{}
	i := &instruments.ArrowInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	m := h.arrowLibrary(t)
	i.Meet(tracee.Listing{First: true}, m)
	i.Meet(tracee.Listing{}, m)
	i.Meet(tracee.Listing{}, process.Mapping{Path: "/x/libarrow_python.so.2500", Perm: process.Exec,
		File: process.FileID{Inode: 99}})
	if len(h.placed) != 1 || len(h.late) > 0 || len(h.missed) > 0 ||
		!strings.Contains(h.uses[ledger.GroupArrow], "SystemMemoryPool of libarrow.so.2500") {
		t.Fatalf("placed %+v, late %q, missed %q, uses %q", h.placed, h.late, h.missed, h.uses)
	}
	var order []ledger.Program
	for _, p := range h.placed[0] {
		order = append(order, p.Program)
		if len(p.Offsets) == 0 || len(p.Offsets) != len(p.Cookies) {
			t.Errorf("%+v", p)
		}
	}
	if len(order) != 4 || order[0] != ledger.PoolFreeing || order[1] != ledger.PoolReturning {
		t.Errorf("placed in the order %v", order)
	}
	i.Meet(tracee.Listing{}, h.arrowLibrary(t))
	if len(h.late) != 1 || len(h.placed) != 2 {
		t.Errorf("late %q, placed %d times", h.late, len(h.placed))
	}
	i.Pause(ledger.GroupTorchCPU)
	i.Pause(ledger.GroupArrow)
	if h.taken != 2 {
		t.Errorf("%d taken out", h.taken)
	}
	for range 2 {
		if err := i.Resume(ledger.GroupArrow); err != nil {
			t.Fatal(err)
		}
	}
	if i.Close(); len(h.placed) != 4 || h.taken != 4 || i.Places() != 0 {
		t.Errorf("placed %d times, %d taken out", len(h.placed), h.taken)
	}
}

// TestArrowInstrumentMisses: the report names a library with unknown pools, a pool of an unknown kind, and probes that
// the kernel refuses. A library that is loaded while the group is paused is probed later.
func TestArrowInstrumentMisses(t *testing.T) {
	h := &fakeHost{}
	i := &instruments.ArrowInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	i.Meet(tracee.Listing{}, h.arrowLibrary(t, "-DOLD"))
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "Arrow before 11") || len(h.meters) != 1 ||
		h.meters[0] != event.Arrow || len(h.late) > 0 {
		t.Errorf("missed %q of %v, late %q", h.missed, h.meters, h.late)
	}
	i.Meet(tracee.Listing{}, h.arrowLibrary(t, "-DNEW_KIND"))
	if len(h.problems) != 1 || !strings.Contains(h.problems[0], "TcmallocMemoryPool") || len(h.placed) != 1 {
		t.Errorf("problems %q, placed %+v", h.problems, h.placed)
	}
	h.refused = errors.New("no room")
	i.Meet(tracee.Listing{}, h.arrowLibrary(t))
	if len(h.missed) != 2 || !strings.Contains(h.missed[1], "no room") {
		t.Errorf("missed %q", h.missed)
	}
	i.Close()

	h = &fakeHost{shed: []ledger.Group{ledger.GroupArrow}}
	i = &instruments.ArrowInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	i.Meet(tracee.Listing{}, h.arrowLibrary(t))
	if len(h.placed) > 0 {
		t.Errorf("placed %+v of a group that is stepped down", h.placed)
	}
	h.shed = nil
	if err := i.Resume(ledger.GroupArrow); err != nil || len(h.placed) != 1 {
		t.Errorf("%v, placed %+v", err, h.placed)
	}
	i.Close()
}

// TestArrowInstrumentExpects: where sys.path has a pyarrow, the library that it needs is probed before it is loaded.
// One with unknown pools is reported when it is loaded.
func TestArrowInstrumentExpects(t *testing.T) {
	h := &fakeHost{environment: map[string]string{"LD_LIBRARY_PATH": "relative:", "CONDA_PREFIX": "/opt/conda"}}
	i := &instruments.ArrowInstrument{Host: h.host(), Target: &tracee.Target{PID: 7, Python: pythonWith(t,
		cpython.Sites{})}}
	i.Expect([]string{"relative", "/nowhere"})
	if len(h.placed) > 0 || len(h.missed) > 0 || i.Places() > 0 {
		t.Errorf("placed %+v, missed %q", h.placed, h.missed)
	}
	m := h.arrowLibrary(t)
	site := filepath.Dir(m.Path)
	module := i.Module(site)
	if err := os.MkdirAll(filepath.Dir(module), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-o", module, "-Wl,--no-as-needed", "-L", site, "-l:libarrow.so.2500",
		"-xc", "/dev/null").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h.files[process.FileID{Inode: 1000}] = module
	names := i.Expected([]string{site})
	if len(names) < 3 || names[0] != filepath.Join(site, "pyarrow/libarrow.so.2500") {
		t.Errorf("expected %q", names)
	}
	delete(h.files, m.File)
	m.Path = names[0]
	if err := os.Rename(filepath.Join(site, "libarrow.so.2500"), m.Path); err != nil {
		t.Fatal(err)
	}
	h.files[m.File] = m.Path
	i.Expect([]string{site})
	i.Expect([]string{site})
	if len(h.placed) != 1 || i.Places() != 1 {
		t.Errorf("placed %d times, %d places", len(h.placed), i.Places())
	}
	i.Meet(tracee.Listing{}, process.Mapping{Path: m.Path, Perm: process.Exec, File: m.File})
	if len(h.placed) != 1 || len(h.late) > 0 {
		t.Errorf("placed %d times, late %q", len(h.placed), h.late)
	}
	i.Close()

	old := h.arrowLibrary(t, "-DOLD")
	if err := os.Rename(old.Path, m.Path); err != nil {
		t.Fatal(err)
	}
	h.files = map[process.FileID]string{{Inode: 1000}: module, old.File: m.Path}
	i.Expect([]string{site})
	if len(h.missed) > 0 || i.Places() != 1 {
		t.Errorf("missed %q before it is loaded, %d places", h.missed, i.Places())
	}
	for range 2 {
		i.Meet(tracee.Listing{}, process.Mapping{Path: m.Path, Perm: process.Exec, File: old.File})
	}
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "Arrow before 11") {
		t.Errorf("missed %q once it is loaded", h.missed)
	}
	i.Close()
}

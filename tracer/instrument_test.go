package tracer

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// loaderFile is the name of this machine's dynamic linker.
var loaderFile = map[string]string{"amd64": "ld-linux-x86-64.so.2", "arm64": "ld-linux-aarch64.so.1"}[runtime.GOARCH]

func thisLibc(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/lib/" + elffile.Triplet + "/libc.so.6", "/usr/lib64/libc.so.6"} {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	t.Skip("no glibc here")
	return ""
}

// TestMappedInstrument: a C library gets its probes once and gives them back; one that cannot have them is reported
// once.
func TestMappedInstrument(t *testing.T) {
	h := &fakeHost{}
	i := &instruments.MappedInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	m := h.has(t, thisLibc(t))
	i.Meet(tracee.Listing{}, m)
	i.Meet(tracee.Listing{}, m)
	if len(h.placed) != 1 || len(h.placed[0]) != 2 || h.placed[0][0].Program != ledger.MmapReturned ||
		!strings.Contains(h.uses[ledger.GroupMapping], "mmap") || len(h.missed) > 0 {
		t.Errorf("placed %+v, used %v, missed %v", h.placed, h.uses, h.missed)
	}
	i.Pause(ledger.GroupNumPy)
	if err := i.Resume(ledger.GroupNumPy); err != nil || h.taken != 0 || len(h.placed) != 1 || !i.Due().IsZero() {
		t.Errorf("%v, %d taken out, placed %d times: it serves no group that is stepped down", err, h.taken,
			len(h.placed))
	}
	i.Close()
	i.Close()
	if h.taken != 1 {
		t.Errorf("%d taken out", h.taken)
	}
}

func TestMappedInstrumentMisses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "libc.so.6")
	if err := os.WriteFile(bad, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		refused error
		ended   bool
		want    string
	}{
		{bad, nil, false, "what mmap maps has no lines"}, {bad, nil, true, ""},
		{thisLibc(t), errors.New("no room"), false, "no room: what mmap maps has no lines"},
		{thisLibc(t), errors.New("no room"), true, ""},
	} {
		h := &fakeHost{refused: c.refused, ended: c.ended}
		i := &instruments.MappedInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
		m := h.has(t, c.name)
		i.Meet(tracee.Listing{}, m)
		i.Meet(tracee.Listing{}, m)
		if said := strings.Join(h.unnamed, "\n"); len(h.unnamed) > 1 || len(h.missed) > 0 ||
			!strings.Contains(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%+v: %q, and misses %q", c, said, h.missed)
		}
		i.Close()
	}
}

// heapPage is a page in which a target counts malloc's blocks.
type heapPage ledger.HeapState

func (p heapPage) State() ledger.HeapState { return ledger.HeapState(p) }
func (p heapPage) Close() error            { return nil }

// TestHeapCountedByTarget: a target that counts malloc's blocks itself gets no probes. If it does not count after all,
// and its allocator cannot be probed, that is reported.
func TestHeapCountedByTarget(t *testing.T) {
	for state, want := range map[ledger.HeapState]int{ledger.HeapCounted: 0, ledger.HeapRefused: 1} {
		h, left := &fakeHost{}, 0
		own := &tracee.OwnHeap{Page: heapPage(state), Leave: func() error { left++; return nil }}
		target := &tracee.Target{PID: 7, OwnHeap: own}
		i := &instruments.HeapInstrument{Host: h.host(), Target: target}
		i.Settle()
		if !i.Due().IsZero() || len(h.missed) != want || left != want {
			t.Errorf("state %v: due %v, missed %v, left %d times", state, i.Due(), h.missed, left)
		}
	}
}

// TestHeapInstrument: without a dynamic linker nothing can be probed, which is reported once, and not at all for a
// process that has ended.
func TestHeapInstrument(t *testing.T) {
	h := &fakeHost{}
	i := &instruments.HeapInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	for range 2 {
		if i.Settle(); !i.Due().IsZero() {
			t.Error("it waits for something")
		}
	}
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "linked statically") ||
		!slices.Equal(h.meters, []event.Meter{event.Heap}) {
		t.Errorf("missed %q of %v", h.missed, h.meters)
	}
	h = &fakeHost{ended: true}
	i = &instruments.HeapInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	if i.Settle(); len(h.missed) > 0 {
		t.Errorf("of a process that has ended: %q", h.missed)
	}
}

// TestHeapPlacements: malloc's exits come before its entry, and a function is probed once however many names it has.
func TestHeapPlacements(t *testing.T) {
	f, err := os.Open(thisLibc(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := libc.FindFunctions(f, []string{"malloc", "free"})
	if err != nil {
		t.Fatal(err)
	}
	placements := instruments.OfHeap(found, true)
	last := placements[len(placements)-1]
	if last.Program != ledger.HeapEnter || len(last.Offsets) != 2 || len(last.Cookies) != 2 {
		t.Errorf("%+v", placements)
	}
	h := &fakeHost{}
	i := &instruments.HeapInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	if cost := i.CostOf(found); cost < 3*time.Microsecond {
		t.Errorf("malloc and free cost %v", cost)
	}
}

// TestLibraryInstrument: a library that cannot be probed is reported once, with the meters that miss it; no meter
// misses the dynamic linker.
func TestLibraryInstrument(t *testing.T) {
	h := &fakeHost{}
	i := &instruments.LibraryInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	driver, loader := h.hasNamed(t, "libcuda.so.1"), h.hasNamed(t, loaderFile)
	for range 2 {
		for _, m := range []process.Mapping{driver, loader} {
			i.Meet(tracee.Listing{}, m)
		}
		i.Listed(tracee.Listing{})
	}
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "memory taken through it is not seen") ||
		!slices.Contains(h.meters, event.Pinned) || h.identified > 0 || len(h.late) > 0 {
		t.Errorf("missed %q of %v, late %v, identified %d times", h.missed, h.meters, h.late, h.identified)
	}
	i.Close()
}

// TestLibraryInstrumentShares: a target counts no tensors itself whose PyTorch is not known, or has no probes.
func TestLibraryInstrumentShares(t *testing.T) {
	h := &fakeHost{}
	i := &instruments.LibraryInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	give := func() (int, error) { return 0, errors.New("a page is given") }
	if _, err := i.Share(give); !errors.Is(err, ledger.ErrNoPage) {
		t.Errorf("without PyTorch: %v", err)
	}
	i.Meet(tracee.Listing{}, h.hasNamed(t, "libc10.so"))
	if _, err := i.Share(give); !errors.Is(err, ledger.ErrNoPage) || !strings.Contains(err.Error(), "has no probes") {
		t.Errorf("with a library that is not PyTorch's: %v", err)
	}
	if h.uses[ledger.GroupTorchCPU] != "" {
		t.Errorf("it is noted: %v", h.uses)
	}
	i.Close()
}

// TestLibraryInstrumentSteps: the linker's probes are placed at once, except those of a group that is paused.
// They are taken out and put back, and are late only where the target had an earlier listing.
func TestLibraryInstrumentSteps(t *testing.T) {
	loader := "/lib64/" + loaderFile
	h := &fakeHost{}
	i := &instruments.LibraryInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	m := h.has(t, loader)
	i.Meet(tracee.Listing{First: true}, m)
	if len(h.placed) != 1 || h.placed[0][0].Program != ledger.LibraryChanged || h.uses[ledger.GroupLoader] == "" ||
		i.Places() != 1 {
		t.Fatalf("placed %+v, used %v", h.placed, h.uses)
	}
	i.Pause(ledger.GroupTorch)
	i.Pause(ledger.GroupLoader)
	i.Pause(ledger.GroupLoader)
	if h.taken != 1 {
		t.Errorf("%d taken out", h.taken)
	}
	for range 2 {
		if err := i.Resume(ledger.GroupLoader); err != nil {
			t.Fatal(err)
		}
	}
	i.Close()
	if len(h.placed) != 2 || h.taken != 2 {
		t.Errorf("placed %d times, taken out %d times", len(h.placed), h.taken)
	}

	h = &fakeHost{shed: []ledger.Group{ledger.GroupLoader}}
	i = &instruments.LibraryInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	i.Meet(tracee.Listing{}, h.has(t, loader))
	if len(h.placed) > 0 || i.Places() != 1 {
		t.Errorf("placed %+v of a group that is stepped down", h.placed)
	}
	i.Close()
}

// TestLibraryInstrumentExpects: files that may be loaded are looked for below sys.path and in LD_LIBRARY_PATH, by
// absolute names, and are no problem where they do not exist or are of no use.
func TestLibraryInstrumentExpects(t *testing.T) {
	h := &fakeHost{environment: map[string]string{"LD_LIBRARY_PATH": "relative:/opt/cuda"}}
	i := &instruments.LibraryInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	names := i.Expected([]string{"/site", "here"})
	for _, want := range []string{"/opt/cuda/libcuda.so.1", "/site/torch/lib/libc10.so",
		"/usr/lib/" + elffile.Triplet + "/libcuda.so.1"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not expected", want)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return !filepath.IsAbs(name) }) ||
		len(names) > instruments.MaxExpected {
		t.Errorf("%d names: %q", len(names), names)
	}
	i.Expect([]string{"/site"})
	if len(h.missed) > 0 || i.Places() > 0 {
		t.Errorf("missed %q, %d places", h.missed, i.Places())
	}
	driver := h.hasNamed(t, "libcuda.so.1") // of no use
	h.environment["LD_LIBRARY_PATH"] = filepath.Dir(driver.Path)
	i.Expect(nil)
	if len(h.missed) > 0 || i.Places() != 1 {
		t.Errorf("missed %q before it is loaded, %d places", h.missed, i.Places())
	}
	i.Meet(tracee.Listing{}, driver)
	i.Meet(tracee.Listing{}, driver)
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "memory taken through it is not seen") || len(h.late) > 0 {
		t.Errorf("missed %q once it is loaded, late %v", h.missed, h.late)
	}
	i.Close()
}

// TestLibraryInstrumentHasRoom: the libraries of other targets count as well.
func TestLibraryInstrumentHasRoom(t *testing.T) {
	h := &fakeHost{places: instruments.MaxLibraries}
	i := &instruments.LibraryInstrument{Host: h.host(), Target: &tracee.Target{PID: 7}}
	i.Meet(tracee.Listing{}, h.hasNamed(t, "libcuda.so.1"))
	i.Listed(tracee.Listing{})
	i.Listed(tracee.Listing{})
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "1 of them are not") {
		t.Errorf("missed %q", h.missed)
	}
}

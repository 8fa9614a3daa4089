package tracer

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/libc"
	"ipytracer/tracer/process"
)

// fakeHost is a session without a kernel.
type fakeHost struct {
	maps    []process.Mapping
	files   map[process.FileID]string
	ended   bool
	refused error // what placing probes fails with
	placed  [][]ledger.Placement
	taken   int // closers that were closed
	missed  []string
	meters  []event.Meter
	uses    map[ledger.Group]string
	cost    time.Duration
}

func (h *fakeHost) openMapping(_ int, m process.Mapping) (*process.MappedFile, error) {
	f, err := os.Open(h.files[m.File])
	if err != nil {
		return nil, err
	}
	return &process.MappedFile{File: f, Mapping: m}, nil
}

func (h *fakeHost) mappings(int) iter.Seq2[process.Mapping, error] {
	return func(yield func(process.Mapping, error) bool) {
		for _, m := range h.maps {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (h *fakeHost) probeFile(_ *target, _ *process.MappedFile, placements []ledger.Placement) (io.Closer, error) {
	if h.refused != nil {
		return nil, h.refused
	}
	h.placed = append(h.placed, placements)
	return closing(func() { h.taken++ }), nil
}

type closing func()

func (c closing) Close() error { c(); return nil }

func (h *fakeHost) hasEnded(*target) bool { return h.ended }

func (h *fakeHost) misses(_ int, _ event.Nanoseconds, meters []event.Meter, format string, args ...any) {
	h.missed = append(h.missed, fmt.Sprintf(format, args...))
	h.meters = append(h.meters, meters...)
}

func (h *fakeHost) noteUse(g ledger.Group, where string) {
	if h.uses == nil {
		h.uses = map[ledger.Group]string{}
	}
	h.uses[g] += where
}

func (h *fakeHost) hit(bool) time.Duration { return time.Microsecond }

func (h *fakeHost) limitHeap() error { return nil }

func (h *fakeHost) heapCosts(d time.Duration) { h.cost = max(h.cost, d) }

// has the target map a file, and returns where.
func (h *fakeHost) has(t *testing.T, name string) process.Mapping {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Skip(err)
	}
	id := process.FileID{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev), Inode: st.Ino}
	if h.files == nil {
		h.files = map[process.FileID]string{}
	}
	h.files[id] = name
	at := uint64(1+len(h.maps)) << 32
	m := process.Mapping{Start: at, End: at + 1<<20, Perm: process.Exec, Path: name, File: id}
	h.maps = append(h.maps, m)
	return m
}

func thisLibc(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6"} {
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	t.Skip("no glibc here")
	return ""
}

// TestMappedInstrument: a C library gets its probes once, gives them back, and what cannot have them is said once.
func TestMappedInstrument(t *testing.T) {
	h := &fakeHost{}
	i := &mappedInstrument{host: h, target: &target{pid: 7}}
	m := h.has(t, thisLibc(t))
	i.meet(m)
	i.meet(m)
	if len(h.placed) != 1 || len(h.placed[0]) != 2 || h.placed[0][0].Program != ledger.MmapReturned || !strings.Contains(h.uses[ledger.GroupMapping], "mmap") || len(h.missed) > 0 {
		t.Errorf("placed %+v, used %v, missed %v", h.placed, h.uses, h.missed)
	}
	i.stepDown(ledger.GroupNumPy)
	if err := i.stepUp(ledger.GroupNumPy); err != nil || h.taken != 0 || len(h.placed) != 1 || !i.settle() {
		t.Errorf("%v, %d taken out, placed %d times: it serves no group that is stepped down", err, h.taken, len(h.placed))
	}
	i.close()
	i.close()
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
		{thisLibc(t), errors.New("no room"), false, "no room: what mmap maps has no lines"}, {thisLibc(t), errors.New("no room"), true, ""},
	} {
		h := &fakeHost{refused: c.refused, ended: c.ended}
		i := &mappedInstrument{host: h, target: &target{pid: 7}}
		m := h.has(t, c.name)
		i.meet(m)
		i.meet(m)
		if said := strings.Join(h.missed, "\n"); len(h.missed) > 1 || !strings.Contains(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%+v: %q", c, said)
		}
		i.close()
	}
}

// TestHeapInstrument: without a dynamic linker nothing can be probed, which is said once, and of a process that has ended not at all.
func TestHeapInstrument(t *testing.T) {
	h := &fakeHost{}
	i := &heapInstrument{host: h, target: &target{pid: 7}}
	for range 2 {
		if !i.settle() {
			t.Error("it waits for something")
		}
	}
	if len(h.missed) != 1 || !strings.Contains(h.missed[0], "linked statically") || !slices.Equal(h.meters, []event.Meter{event.Heap}) {
		t.Errorf("missed %q of %v", h.missed, h.meters)
	}
	h = &fakeHost{ended: true}
	if i = (&heapInstrument{host: h, target: &target{pid: 7}}); !i.settle() || len(h.missed) > 0 {
		t.Errorf("of a process that has ended: %q", h.missed)
	}
}

// TestHeapPlacements: malloc's ways out come in front of its entry, and a function is probed once however often it is named.
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
	placements := heapPlacements(found, true)
	last := placements[len(placements)-1]
	if last.Program != ledger.HeapEnter || len(last.Offsets) != 2 || len(last.Cookies) != 2 {
		t.Errorf("%+v", placements)
	}
	h := &fakeHost{}
	i := &heapInstrument{host: h, target: &target{pid: 7}}
	if cost := i.costOf(found); cost < 3*time.Microsecond {
		t.Errorf("malloc and free cost %v", cost)
	}
}

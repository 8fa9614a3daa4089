package tracer

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// fakeHost is a session without a kernel.
type fakeHost struct {
	maps    []process.Mapping
	files   map[process.FileID]string
	ended   bool
	refused error // the error of placing probes
	placed  [][]ledger.Placement
	taking  sync.Mutex
	taken   int // probes that were taken out
	missed  []string
	meters  []event.Meter
	uses    map[ledger.Group]string
	dear    map[ledger.Group]string
	cost    time.Duration

	environment map[string]string
	problems    []string
	unnamed     []string
	late        []string
	identified  int
	unseen      int
	shed        []ledger.Group
	places      int
}

// host returns the parts of a session for which this one stands in.
func (h *fakeHost) host() *instruments.Host {
	return &instruments.Host{FileOpener: h, ProbePlacer: h, Witness: h, GPUFinder: h, Pauses: h, Pricer: h,
		CrowdCount: h}
}

func (h *fakeHost) OpenMapping(_ int, m process.Mapping) (*process.MappedFile, error) {
	f, err := os.Open(h.files[m.File])
	if err != nil {
		return nil, err
	}
	return &process.MappedFile{File: f, Mapping: m}, nil
}

func (h *fakeHost) Mappings(int) iter.Seq2[process.Mapping, error] {
	return func(yield func(process.Mapping, error) bool) {
		for _, m := range h.maps {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (h *fakeHost) ProbeFile(_ *tracee.Target, _ *process.MappedFile, placements []ledger.Placement) (io.Closer,
	error) {
	if h.refused != nil {
		return nil, h.refused
	}
	h.placed = append(h.placed, placements)
	return h.probe(), nil
}

// probe returns a probe that is in place. Several are taken out at a time.
func (h *fakeHost) probe() io.Closer {
	return closing(func() {
		h.taking.Lock()
		defer h.taking.Unlock()
		h.taken++
	})
}

type closing func()

func (c closing) Close() error { c(); return nil }

func (h *fakeHost) HasEnded(*tracee.Target) bool { return h.ended }

func (h *fakeHost) Misses(_ int, _ event.Nanoseconds, meters []event.Meter, format string, args ...any) {
	h.missed = append(h.missed, fmt.Sprintf(format, args...))
	h.meters = append(h.meters, meters...)
}

func (h *fakeHost) NoteUse(g ledger.Group, where string) {
	if h.uses == nil {
		h.uses = map[ledger.Group]string{}
	}
	h.uses[g] += where
}

func (h *fakeHost) NoteDear(g ledger.Group, why string) {
	if h.dear == nil {
		h.dear = map[ledger.Group]string{}
	}
	h.dear[g] += why
}

func (h *fakeHost) Hit(bool) time.Duration { return time.Microsecond }

func (h *fakeHost) OpenFile(pid int, name string) (*process.MappedFile, error) {
	for id, known := range h.files {
		if known == name {
			return h.OpenMapping(pid, process.Mapping{Path: name, File: id})
		}
	}
	return nil, os.ErrNotExist
}

func (h *fakeHost) Variables(int, ...string) map[string]string { return h.environment }

func (h *fakeHost) Problem(format string, args ...any) {
	h.problems = append(h.problems, fmt.Sprintf(format, args...))
}

func (h *fakeHost) LeavesUnnamed(format string, args ...any) {
	h.unnamed = append(h.unnamed, fmt.Sprintf(format, args...))
}

func (h *fakeHost) JoinedLate(_ *tracee.Target, name string, _ ...ledger.Group) {
	h.late = append(h.late, name)
}

func (h *fakeHost) CountUnseen() { h.unseen++ }

func (h *fakeHost) Identify(*tracee.Target, bool) { h.identified++ }

func (h *fakeHost) PlaceCheckpoints(*process.MappedFile, []cuda.Site) error { return nil }

func (h *fakeHost) IsPaused(_ uint32, g ledger.Group) bool { return slices.Contains(h.shed, g) }

func (h *fakeHost) AllPlaces() int { return h.places }

func (h *fakeHost) HeapCosts(d time.Duration) { h.cost = max(h.cost, d) }

// has lets the target map a file, and returns the mapping.
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

// hasNamed lets the target map a file that is no library, whatever its name says.
func (h *fakeHost) hasNamed(t *testing.T, name string) process.Mapping {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	return h.has(t, file)
}

package tracer

import (
	"io"

	"ipytracer/event"
	"ipytracer/tracer/cpython"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/libc"
	"ipytracer/tracer/machine"
	"ipytracer/tracer/numpy"
)

// Build is what a CPython build on disk offers to the probes.
type Build struct {
	Version    string
	Statements bool // windows of statements are possible
	// Blind is why cells cannot be seen, "" if they can. Such a Python is not attached to once IPython runs in it.
	Blind  string
	Groups []BuildGroup
}

// BuildGroup is where the probes of one group would go.
type BuildGroup struct {
	Name  string
	Found bool // every probe of the group has a place, and something passes it
	Sites []machine.Site
}

// Inspect looks at the ELF file of an interpreter. The error matches cpython.ErrNotPython or
// cpython.ErrUnsupported; the version is there if it could be told.
func Inspect(r io.ReaderAt) (Build, error) {
	binary, err := cpython.Open(r)
	if err != nil {
		return Build{}, err
	}
	b := Build{Version: binary.Version().String()}
	sites, err := binary.Sites()
	if err != nil {
		return b, err
	}
	b.Blind = blind(sites)
	for g := range ledger.Group(ledger.PythonGroups) {
		group := BuildGroup{Name: g.String(), Found: len(placements(g, sites)) > 0 && len(doubted(g, sites)) == 0, Sites: sitesOf(g, sites)}
		b.Groups = append(b.Groups, group)
		if g == ledger.GroupStatement {
			b.Statements = group.Found
		}
	}
	return b, nil
}

// MeterSources says for each meter which probe serves it on a kernel, for a target with so many threads.
func MeterSources(c ledger.Capabilities, threads int) []event.MeterSource {
	rss := "tracepoint kmem:rss_stat, the kernel's per-CPU counters"
	exact, bound := true, event.Bytes(0)
	if !c.ExactResident {
		rss = "tracepoint kmem:rss_stat, with what each thread holds back at that moment (before 6.2)"
		exact, bound = false, event.Bytes(c.ResidentBound)*event.Bytes(threads)
	}
	sources := []event.MeterSource{{
		Meter: event.Mapped, Source: "mm->data_vm, read under mmap_lock at tracepoint mmap_lock:mmap_lock_released", Exact: true,
	}}
	for _, m := range []event.Meter{event.Resident, event.ResidentAnon, event.ResidentFile, event.ResidentShmem} {
		sources = append(sources, event.MeterSource{Meter: m, Source: rss, Exact: exact, Bound: bound})
	}
	sources = append(sources, event.MeterSource{
		Meter: event.NumPy, Source: "uprobes in NumPy or on PyTraceMalloc_Track; arrays made since the attach, blocks of 1,024 bytes or more", Exact: true,
	})
	sources = append(sources, event.MeterSource{
		Meter: event.Torch, Source: "uprobes on c10::ProfiledCPUMemoryReporter::New and Delete; tensors made since the attach", Exact: true,
	})
	// Those of GPU 0 stand for the same of every GPU.
	for m := range event.DeviceMeter(event.DeviceMeters) {
		source := event.MeterSource{Meter: event.OfDevice(0, m), Source: deviceSources[m], Exact: true}
		if m == event.Unattributed {
			source.Exact, source.Bound = false, -1
		}
		sources = append(sources, source)
	}
	return append(sources, event.MeterSource{Meter: event.Pinned, Source: deviceSources[event.Driver], Exact: true})
}

// Libc is what a C library on disk offers to the probes.
type Libc struct {
	Calls     []machine.Site // for lines of cpu.mapped
	Allocator int            // functions that cpu.heap would be seen at
	Late      []string       // those of them whose ways out are not all known
}

// InspectLibc looks at the ELF file of a C library. The error matches libc.ErrUnknown.
func InspectLibc(r io.ReaderAt) (l Libc, err error) {
	calls, err := libc.FindCalls(r)
	if err != nil {
		return l, err
	}
	l.Calls = append(calls.Mmap, calls.Mremap...)
	functions, err := libc.FindFunctions(r, libc.Names())
	for _, f := range functions {
		if l.Allocator++; !f.Complete {
			l.Late = append(l.Late, f.Name)
		}
	}
	return l, err
}

// NumPy is what NumPy's extension module on disk offers to the probes.
type NumPy struct {
	Places  int // where blocks of array data are seen
	Stepped int // those of them whose instruction is single-stepped
}

// InspectNumPy looks at the ELF file of NumPy's extension module. The error matches numpy.ErrNoHandler or numpy.ErrUnknown where
// the probes on PyTraceMalloc_Track serve.
func InspectNumPy(r io.ReaderAt) (n NumPy, err error) {
	sites, err := numpy.Find(r)
	for _, site := range sites.All() {
		if n.Places++; !site.Emulated {
			n.Stepped++
		}
	}
	return n, err
}

// HeapSource is the probe that serves cpu.heap in a session that was asked for it.
var HeapSource = event.MeterSource{
	Meter: event.Heap, Source: "uprobes on malloc, free and their relatives; blocks made since the attach, by the bytes asked for", Exact: true,
}

var deviceSources = [event.DeviceMeters]string{
	event.Driver:       "uprobes on the exported functions of libcuda.so.1, return codes checked; memory taken since the attach",
	event.Active:       "PyTorch's own total, handed to c10::reportMemoryUsageToProfiler at each allocation and free",
	event.Reserved:     "PyTorch's own total at each allocation and free, less what it gives back to the driver in between",
	event.Unattributed: "NVML's figure for the process when a cell begins and ends, less the driver meter: sampled, not traced",
}

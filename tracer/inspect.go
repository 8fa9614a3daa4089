package tracer

import (
	"cmp"
	"io"

	"ipytracer/event"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// Build describes which probes a CPython build on disk supports.
type Build struct {
	Version    string
	Statements bool // windows of statements are possible
	// Unseen is why cells cannot be seen, "" if they can. Such a Python is not attached to once IPython runs in it.
	Unseen string
	Groups []BuildGroup
}

// BuildGroup is where the probes of one group would go.
type BuildGroup struct {
	Name  string
	Found bool // every probe of the group has a place that calls pass
	Sites []machine.Site
}

// Inspect examines the ELF file of an interpreter. The error matches cpython.ErrNotPython or cpython.ErrUnsupported;
// the version is set if it could be determined.
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
	b.Unseen = instruments.CellsUnseen(sites)
	for g := range ledger.Group(ledger.PythonGroups) {
		group := BuildGroup{Name: g.String(),
			Found: len(instruments.OfPython(g, sites)) > 0 && len(instruments.Doubted(g, sites)) == 0,
			Sites: instruments.Sites(g, sites)}
		b.Groups = append(b.Groups, group)
		if g == ledger.GroupStatement {
			b.Statements = group.Found
		}
	}
	return b, nil
}

// MeterSources names for each meter the probe that serves it on a kernel, for a target with so many threads.
func MeterSources(c ledger.Capabilities, threads int) []event.MeterSource {
	var sources []event.MeterSource
	for _, f := range event.Meters() {
		if f.OnRequest == "" || f.Meter == event.Copied && c.Copies {
			sources = append(sources, sourceOf(f, c, threads))
		}
	}
	return sources
}

func sourceOf(f event.Facts, c ledger.Capabilities, threads int) event.MeterSource {
	source := event.MeterSource{Meter: f.Meter, Source: f.Source, Exact: f.Kind != event.Sampled}
	switch {
	case f.Kind == event.Sampled:
		source.Bound = -1
	case f.Meter == event.Copied:
		source.Exact, source.Absent = c.Copies, !c.Copies
	case (f.Kind == event.Pages || f.Kind == event.Part) && !c.ExactResident:
		source.Source = "tracepoint kmem:rss_stat, with what each thread holds back at that moment (before 6.2)"
		source.Exact, source.Bound = false, event.Bytes(c.ResidentBound)*event.Bytes(threads)
	}
	return source
}

// Libc describes which probes a C library on disk supports.
type Libc struct {
	Calls     []machine.Site // for lines of cpu.mapped
	Allocator int            // functions on which cpu.heap would have probes
	Late      []string       // the functions with exits that are not all known
}

// InspectLibc examines the ELF file of a C library. The error matches libc.ErrUnknown.
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

// NumPy describes which probes NumPy's extension module on disk supports.
type NumPy struct {
	Places  int // places of probes on blocks of array data
	Stepped int // the places with an instruction that is single-stepped
}

// InspectNumPy examines the ELF file of NumPy's extension module. The error matches numpy.ErrNoHandler or
// numpy.ErrUnknown where the probes on PyTraceMalloc_Track serve.
func InspectNumPy(r io.ReaderAt) (n NumPy, err error) {
	sites, err := numpy.Find(r)
	for _, site := range sites.All() {
		if n.Places++; !site.Emulated {
			n.Stepped++
		}
	}
	return n, err
}

// RequestedSources names the probes of the meters that are served only where a flag asks for them.
func RequestedSources() (sources []event.MeterSource) {
	for _, f := range event.Meters() {
		if f.OnRequest != "" {
			sources = append(sources, event.MeterSource{Meter: f.Meter, Source: f.Source, Exact: true})
		}
	}
	return sources
}

// IsPython reports whether an ELF file defines a supported CPython interpreter.
func IsPython(r io.ReaderAt) bool { return instruments.IsPython(r) }

// Describer examines running Pythons. It analyses the file of each interpreter once, however many processes run it,
// which takes a tenth of a second of processor time. It must be closed.
type Describer struct{ known instruments.Interpreters }

// NewDescriber returns a Describer without any analysed files.
func NewDescriber(fs process.FS) *Describer { return &Describer{instruments.Interpreters{FS: fs}} }

// Close releases the results of all analyses.
func (d *Describer) Close() { d.known.Close() }

// Describe examines a running Python process from outside: its versions and front end, as far as they can be
// determined. If the memory shows no front end, Describe takes it from the command line. If the process could not be
// examined, the error says why, and the versions are missing.
func (d *Describer) Describe(python process.Python) (event.ProcessInfo, error) {
	p, err := d.known.Open(python.PID)
	if err != nil {
		return event.ProcessInfo{PID: int32(python.PID), Frontend: python.Frontend}, err
	}
	defer p.Close()
	t := &tracee.Target{PID: python.PID, Python: p}
	if addr, n, err := p.Live.InputList(); err == nil {
		p.Inputs, p.Count = addr, n
		p.IPython, _ = p.Live.IPythonVersion()
		p.Front = p.Live.Frontend()
		p.Notebook = tracee.NotebookOf(d.known.FS, python.PID, p.Live)
	}
	info := t.Info()
	info.Frontend = cmp.Or(info.Frontend, python.Frontend)
	return info, nil
}

package instruments

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// LibraryInstrument is the instrument for GPUs and tensors: probes in CUDA's driver and runtime, in PyTorch's c10, and
// in the dynamic linker, which reports loaded and unloaded libraries. Probes on a file that the target has not mapped
// yet are in place when it maps the file. A library that is first found among the mappings has joined late.
type LibraryInstrument struct {
	libraryFiles[*library]
	*Host
	Target   *tracee.Target
	Analyses *Analyses
	crowded  [cuda.Runtime + 1]bool // by kind: it was reported that some libraries have no room

	beyond crowd // of this listing
	driver bool  // one is mapped, as of this listing
}

// library is a shared library of a target, loaded or expected, with probes on it.
type library struct {
	file           *process.MappedFile
	kind           cuda.Kind
	sites          cuda.Sites
	probes         map[ledger.Group]io.Closer // the probes in place
	refused        error                      // why memory taken through it is not seen
	mapped         bool                       // by the target: only then something is missing
	totalsReported bool                       // missTotals has reported it
}

// libraryAnalysis returns the analysis of libraries of a kind, and how it is kept.
func libraryAnalysis(kind cuda.Kind) Analysis[cuda.Sites] {
	return Analysis[cuda.Sites]{
		Subject: fmt.Sprintf("library %d", kind),
		Find:    func(r io.ReaderAt) (cuda.Sites, error) { return cuda.Find(r, kind) },
		Places:  cuda.Sites.Offsets,
	}
}

// close takes all probes out and closes the file.
func (l *library) close() {
	for g := range l.probes {
		l.pause(g)
	}
	l.file.File.Close()
}

// pause takes a group's probes out.
func (l *library) pause(g ledger.Group) {
	if c := l.probes[g]; c != nil {
		_ = c.Close()
		delete(l.probes, g)
	}
}

// Meet puts probes on a library when the target first maps it.
func (i *LibraryInstrument) Meet(l tracee.Listing, m process.Mapping) {
	kind, ok := cuda.KindOf(m.Path)
	if !ok || m.File.Inode == 0 {
		return
	}
	i.driver = i.driver || kind == cuda.Driver
	if m.Perm&process.Exec == 0 {
		return
	}
	if known := i.library(m.File); known != nil {
		i.report(known)
		return
	}
	if l.Last {
		if counts(kind) {
			i.JoinedLate(i.Target, tracee.Clean(m.Path))
		}
		return
	}
	if !i.hasRoom(kind, MaxLibrariesOfKind) {
		i.beyond.add(kind, m)
		return
	}
	file := openMet(i.Host, i.Target, l, m, tracee.MetersThrough(kind))
	if file == nil {
		return
	}
	library := i.adopt(file, kind)
	i.report(library)
	if library.refused == nil && !l.First && counts(kind) {
		var missed []ledger.Group
		if kind == cuda.Torch {
			missed = append(missed, ledger.GroupTorchCPU)
		}
		i.JoinedLate(i.Target, tracee.Clean(m.Path), missed...)
	}
}

// Listed reports libraries without room, and identifies the GPUs that the target uses.
func (i *LibraryInstrument) Listed(l tracee.Listing) {
	i.sayCrowd(l.Since)
	if slices.ContainsFunc(i.libraries,
		func(l *library) bool { return l.sites.Kind == cuda.Driver && len(l.probes) > 0 }) {
		i.Identify(i.Target, i.driver)
	}
	if i.driver {
		i.missTotals()
	}
	i.beyond, i.driver = nil, false
}

// missTotals reports, for a target that uses a GPU, that its PyTorch does not report its GPU memory.
func (i *LibraryInstrument) missTotals() {
	for _, l := range i.libraries {
		if l.sites.Tensors.Present() && l.sites.Report.Symbol == "" && !l.totalsReported {
			l.totalsReported = true
			i.Problem("pid %d: %s does not export c10::reportMemoryUsageToProfiler with totals (PyTorch 1.12): "+
				"gpu.N.active and gpu.N.reserved are not seen", i.Target.PID, tracee.Clean(l.file.Mapping.Path))
		}
	}
}

func (l *library) id() process.FileID { return l.file.Mapping.File }

// counts reports whether figures lack something where a library of this kind has no probes.
func counts(kind cuda.Kind) bool { return kind != cuda.Loader && kind != cuda.Runtime }

// adopt puts probes on a library. It takes the file over.
func (i *LibraryInstrument) adopt(file *process.MappedFile, kind cuda.Kind) *library {
	name := tracee.Clean(file.Mapping.Path)
	l := &library{file: file, kind: kind, probes: map[ledger.Group]io.Closer{}}
	i.libraries = append(i.libraries, l) // even if it is of no use: it need not be examined again
	var err error
	if l.sites, err = libraryAnalysis(kind).Of(i.Analyses, i.Target.PID, file, file.File); err != nil {
		if counts(l.kind) {
			l.refused = fmt.Errorf("%s: %w: memory taken through it is not seen", name, err)
		}
		return l
	}
	if err := i.placeLibrary(l); err != nil {
		l.refused = fmt.Errorf("%s could not be probed: %w", name, err)
		return l
	}
	i.note(l)
	return l
}

// report reports, when the target maps a library, why its memory is not seen, and functions that it does not export.
func (i *LibraryInstrument) report(l *library) {
	if l.mapped {
		return
	}
	l.mapped = true
	pid := i.Target.PID
	if l.refused != nil && !i.HasEnded(i.Target) {
		i.Misses(pid, 0, tracee.MetersThrough(l.kind), "pid %d: %v", pid, l.refused)
	}
	if len(l.sites.Missing) > 0 {
		slices.Sort(l.sites.Missing)
		i.Problem("pid %d: %s does not export %s: memory taken through them is not seen", pid,
			tracee.Clean(l.file.Mapping.Path), strings.Join(l.sites.Missing, ", "))
	}
}

// placeLibrary puts in the probes that are not in place.
func (i *LibraryInstrument) placeLibrary(l *library) error {
	for g := range ofLibrary(l.sites) {
		if i.IsPaused(i.Target.Root, g) {
			continue
		}
		if err := i.placeGroup(l, g); err != nil {
			return err
		}
	}
	return i.PlaceCheckpoints(l.file, l.sites.Others)
}

// placeGroup puts a group's probes on a library, if it has any and they are not in place.
func (i *LibraryInstrument) placeGroup(l *library, g ledger.Group) error {
	placements := ofLibrary(l.sites)[g]
	if len(placements) == 0 || l.probes[g] != nil {
		return nil
	}
	c, err := i.ProbeFile(i.Target, l.file, placements)
	if err != nil {
		return err
	}
	l.probes[g] = c
	return nil
}

// note records for the certificate where the probes are.
func (i *LibraryInstrument) note(l *library) {
	where := path.Base(tracee.Clean(l.file.Mapping.Path))
	switch l.sites.Kind {
	case cuda.Driver:
		where = fmt.Sprintf("%d functions of %s, entry and return", len(l.sites.Driver), where)
		i.NoteUse(ledger.GroupDriver, where)
	case cuda.Runtime:
		i.NoteUse(ledger.GroupDriver, fmt.Sprintf("%d functions of %s", len(l.sites.Runtime), where))
	case cuda.Torch:
		if l.sites.Report.Symbol != "" {
			i.NoteUse(ledger.GroupTorch, "c10::reportMemoryUsageToProfiler in "+where)
		}
		if l.sites.Tensors.Present() {
			i.NoteUse(ledger.GroupTorchCPU, "c10::ProfiledCPUMemoryReporter::New, Delete in "+where)
		}
	case cuda.Loader:
		i.NoteUse(ledger.GroupLoader, l.sites.Loader.Symbol+" in "+where)
	}
}

// Expect puts probes, ahead of time, on the files that the target would load for CUDA and PyTorch: in the folders of
// its dynamic linker and of its sys.path.
func (i *LibraryInstrument) Expect(modules []string) {
	for _, name := range i.Expected(modules) {
		file, err := i.OpenFile(i.Target.PID, name)
		if err != nil {
			continue
		}
		kind, ok := cuda.KindOf(name)
		if !ok || i.library(file.Mapping.File) != nil || !i.hasRoom(kind, maxExpectedOfKind) {
			file.File.Close()
			continue
		}
		i.adopt(file, kind)
	}
}

// driverDirectories are the folders of the driver: of distributions, NVIDIA's own installer, its container runtime,
// WSL.
var driverDirectories = []string{
	"/usr/lib/" + elffile.Triplet, "/usr/lib64", "/lib64", "/usr/lib",
	"/usr/lib/" + elffile.Triplet + "/nvidia/current",
	"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/local/cuda/compat", "/usr/lib/wsl/lib",
	"/run/opengl-driver/lib",
}

// runtimes are the paths of the runtime in wheels, below sys.path.
var runtimes = []string{
	"nvidia/cu13/lib/libcudart.so.13", "nvidia/cuda_runtime/lib/libcudart.so.12",
	"nvidia/cuda_runtime/lib/libcudart.so.11.0",
}

const MaxExpected = 512

// Expected lists the absolute names under which the libraries may be found.
func (i *LibraryInstrument) Expected(modules []string) (names []string) {
	variables := i.Variables(i.Target.PID, "LD_LIBRARY_PATH", "CONDA_PREFIX")
	directories := strings.Split(variables["LD_LIBRARY_PATH"], ":")
	if prefix := variables["CONDA_PREFIX"]; prefix != "" {
		directories = append(directories, path.Join(prefix, "lib"))
	}
	for _, dir := range append(directories, driverDirectories...) {
		names = append(names, path.Join(dir, "libcuda.so.1"), path.Join(dir, "libc10.so"))
	}
	for _, dir := range modules {
		names = append(names, path.Join(dir, "torch/lib/libc10.so"))
		for _, runtime := range runtimes {
			names = append(names, path.Join(dir, runtime))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !path.IsAbs(name) })
	return names[:min(len(names), MaxExpected)]
}

func (i *LibraryInstrument) Pause(g ledger.Group) {
	for _, l := range i.libraries {
		l.pause(g)
	}
}

func (i *LibraryInstrument) Resume(g ledger.Group) error {
	for _, l := range i.libraries {
		if err := i.placeGroup(l, g); err != nil {
			return err
		}
	}
	return nil
}

// hasRoom reports whether a target may have one more library of a kind.
func (i *LibraryInstrument) hasRoom(kind cuda.Kind, most int) bool {
	ofKind := 0
	for _, l := range i.libraries {
		if l.kind == kind {
			ofKind++
		}
	}
	return ofKind < most && i.AllPlaces() < MaxLibraries
}

// sayCrowd reports, once for each kind, the libraries that are not seen for lack of room.
func (i *LibraryInstrument) sayCrowd(since event.Nanoseconds) {
	for _, kind := range []cuda.Kind{cuda.Driver, cuda.Torch, cuda.Loader, cuda.Runtime} {
		of, crowded := i.beyond[kind]
		if !crowded || i.crowded[kind] {
			continue
		}
		i.crowded[kind] = true
		i.Misses(i.Target.PID, since, tracee.MetersThrough(kind),
			"pid %d: it maps more files that are named like %s than are looked at: %d of them are not, and what is "+
				"taken through them is not seen",
			i.Target.PID, of.name, len(of.files))
	}
}

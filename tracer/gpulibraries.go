package tracer

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
	"ipytracer/tracer/internal/places"
)

// libraryInstrument is the instrument for GPUs and tensors: probes in CUDA's driver and runtime, in PyTorch's c10, and
// in the dynamic linker, which reports loaded and unloaded libraries. Probes on a file that the target has not mapped
// yet are in place when it maps the file. A library that is first found among the mappings has joined late.
type libraryInstrument struct {
	libraryFiles[*library]
	*host
	target   *target
	analyses *analyses
	crowded  [cuda.Runtime + 1]bool // by kind: it was reported that some libraries have no room

	beyond crowd // of this listing
	driver bool  // one is mapped, as of this listing
}

// library is a shared library of a target, loaded or expected, with probes on it.
type library struct {
	file    *process.MappedFile
	kind    cuda.Kind
	sites   cuda.Sites
	probes  map[ledger.Group]io.Closer // the probes in place
	refused error                      // why memory taken through it is not seen
	mapped  bool                       // by the target: only then something is missing
	told    bool                       // missTotals has reported it
}

// libraryAnalysis returns the analysis of libraries of a kind, and how it is kept.
func libraryAnalysis(kind cuda.Kind) analysis[cuda.Sites] {
	return analysis[cuda.Sites]{
		subject: fmt.Sprintf("library %d", kind),
		find:    func(r io.ReaderAt) (cuda.Sites, error) { return cuda.Find(r, kind) },
		places:  cuda.Sites.Offsets,
	}
}

// close takes all probes out and closes the file.
func (l *library) close() {
	for g := range l.probes {
		l.stepDown(g)
	}
	l.file.File.Close()
}

// stepDown takes a group's probes out.
func (l *library) stepDown(g ledger.Group) {
	if c := l.probes[g]; c != nil {
		_ = c.Close()
		delete(l.probes, g)
	}
}

// meet puts probes on a library when the target first maps it.
func (i *libraryInstrument) meet(l listing, m process.Mapping) {
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
	if l.last {
		if counts(kind) {
			i.joinedLate(i.target, clean(m.Path))
		}
		return
	}
	if !i.hasRoom(kind, maxLibrariesOfKind) {
		i.beyond.add(kind, m)
		return
	}
	file := openMet(i.host, i.target, l, m, metersThrough(kind))
	if file == nil {
		return
	}
	library := i.adopt(file, kind)
	i.report(library)
	if library.refused == nil && !l.first && counts(kind) {
		var missed []ledger.Group
		if kind == cuda.Torch {
			missed = append(missed, ledger.GroupTorchCPU)
		}
		i.joinedLate(i.target, clean(m.Path), missed...)
	}
}

// listed reports libraries without room, and identifies the GPUs that the target uses.
func (i *libraryInstrument) listed(l listing) {
	i.sayCrowd(l.since)
	if slices.ContainsFunc(i.libraries,
		func(l *library) bool { return l.sites.Kind == cuda.Driver && len(l.probes) > 0 }) {
		i.identify(i.target, i.driver)
	}
	if i.driver {
		i.missTotals()
	}
	i.beyond, i.driver = nil, false
}

// missTotals reports, for a target that uses a GPU, that its PyTorch does not report its GPU memory.
func (i *libraryInstrument) missTotals() {
	for _, l := range i.libraries {
		if l.sites.Tensors.Present() && l.sites.Report.Symbol == "" && !l.told {
			l.told = true
			i.problem("pid %d: %s does not export c10::reportMemoryUsageToProfiler with totals (PyTorch 1.12): "+
				"gpu.N.active and gpu.N.reserved are not seen",
				i.target.pid, clean(l.file.Mapping.Path))
		}
	}
}

func (l *library) id() process.FileID { return l.file.Mapping.File }

// counts reports whether figures lack something without a library. Without the runtime's names nothing is missing.
func counts(kind cuda.Kind) bool { return kind != cuda.Loader && kind != cuda.Runtime }

// adopt puts probes on a library. It takes the file over.
func (i *libraryInstrument) adopt(file *process.MappedFile, kind cuda.Kind) *library {
	name := clean(file.Mapping.Path)
	l := &library{file: file, kind: kind, probes: map[ledger.Group]io.Closer{}}
	i.libraries = append(i.libraries, l) // even if it is of no use: it need not be examined again
	var err error
	if l.sites, err = libraryAnalysis(kind).of(i.analyses, i.target.pid, file, file.File); err != nil {
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
func (i *libraryInstrument) report(l *library) {
	if l.mapped {
		return
	}
	l.mapped = true
	pid := i.target.pid
	if l.refused != nil && !i.hasEnded(i.target) {
		i.misses(pid, 0, metersThrough(l.kind), "pid %d: %v", pid, l.refused)
	}
	if len(l.sites.Missing) > 0 {
		slices.Sort(l.sites.Missing)
		i.problem("pid %d: %s does not export %s: memory taken through them is not seen", pid,
			clean(l.file.Mapping.Path), strings.Join(l.sites.Missing, ", "))
	}
}

// placeLibrary puts in the probes that are not in place.
func (i *libraryInstrument) placeLibrary(l *library) error {
	for g := range places.OfLibrary(l.sites) {
		if i.isShed(i.target.root, g) {
			continue
		}
		if err := i.placeGroup(l, g); err != nil {
			return err
		}
	}
	return i.placeCheckpoints(l.file, l.sites.Others)
}

// placeGroup puts a group's probes on a library, if it has any and they are not in place.
func (i *libraryInstrument) placeGroup(l *library, g ledger.Group) error {
	placements := places.OfLibrary(l.sites)[g]
	if len(placements) == 0 || l.probes[g] != nil {
		return nil
	}
	c, err := i.probeFile(i.target, l.file, placements)
	if err != nil {
		return err
	}
	l.probes[g] = c
	return nil
}

// note records for the certificate where the probes are.
func (i *libraryInstrument) note(l *library) {
	where := path.Base(clean(l.file.Mapping.Path))
	switch l.sites.Kind {
	case cuda.Driver:
		where = fmt.Sprintf("%d functions of %s, entry and return", len(l.sites.Driver), where)
		i.noteUse(ledger.GroupDriver, where)
	case cuda.Runtime:
		i.noteUse(ledger.GroupDriver, fmt.Sprintf("%d functions of %s", len(l.sites.Runtime), where))
	case cuda.Torch:
		if l.sites.Report.Symbol != "" {
			i.noteUse(ledger.GroupTorch, "c10::reportMemoryUsageToProfiler in "+where)
		}
		if l.sites.Tensors.Present() {
			i.noteUse(ledger.GroupTorchCPU, "c10::ProfiledCPUMemoryReporter::New, Delete in "+where)
		}
	case cuda.Loader:
		i.noteUse(ledger.GroupLoader, l.sites.Loader.Symbol+" in "+where)
	}
}

// expect puts probes, ahead of time, on the files that the target would load for CUDA and PyTorch: in the folders of
// its dynamic linker and of its sys.path.
func (i *libraryInstrument) expect(modules []string) {
	for _, name := range i.expected(modules) {
		file, err := i.openFile(i.target.pid, name)
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

const maxExpected = 512

// expected lists the absolute names under which the libraries may be found.
func (i *libraryInstrument) expected(modules []string) (names []string) {
	variables := i.variables(i.target.pid, "LD_LIBRARY_PATH", "CONDA_PREFIX")
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
	return names[:min(len(names), maxExpected)]
}

func (i *libraryInstrument) stepDown(g ledger.Group) {
	for _, l := range i.libraries {
		l.stepDown(g)
	}
}

func (i *libraryInstrument) stepUp(g ledger.Group) error {
	for _, l := range i.libraries {
		if err := i.placeGroup(l, g); err != nil {
			return err
		}
	}
	return nil
}

// hasRoom reports whether a target may have one more library of a kind.
func (i *libraryInstrument) hasRoom(kind cuda.Kind, most int) bool {
	ofKind := 0
	for _, l := range i.libraries {
		if l.kind == kind {
			ofKind++
		}
	}
	return ofKind < most && i.allPlaces() < maxLibraries
}

// sayCrowd reports, once for each kind, the libraries that are not seen for lack of room.
func (i *libraryInstrument) sayCrowd(since event.Nanoseconds) {
	for _, kind := range []cuda.Kind{cuda.Driver, cuda.Torch, cuda.Loader, cuda.Runtime} {
		of, crowded := i.beyond[kind]
		if !crowded || i.crowded[kind] {
			continue
		}
		i.crowded[kind] = true
		i.misses(i.target.pid, since, metersThrough(kind),
			"pid %d: it maps more files that are named like %s than are looked at: %d of them are not, and what is "+
				"taken through them is not seen",
			i.target.pid, of.name, len(of.files))
	}
}

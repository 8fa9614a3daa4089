package tracer

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"ipytracer/event"
	"ipytracer/tracer/cuda"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

// library is a shared library of a target, loaded or expected, with probes on it.
type library struct {
	file   *process.MappedFile
	kind   cuda.Kind
	sites  cuda.Sites
	probes map[ledger.Group]io.Closer // those that are in place
	told   bool                       // that it tells nothing of GPUs
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

// relist looks through a target's mappings for libraries that GPU memory and tensors are seen in, and probes those that are new. Probes
// on a file that the target has not mapped yet are in place the moment it does; what is found here first has joined late.
func (s *Session) relist(t *target) {
	s.equip(t)
	first, since := !t.announced, t.listed
	t.unlisted, t.listed = false, now()
	driver := false // is mapped
	var beyond crowd
	for m, err := range s.fs.Mappings(t.pid) {
		if err != nil {
			return // it has ended
		}
		for _, i := range t.instruments {
			i.meet(m)
		}
		s.adoptArrays(t, m)
		kind, ok := cuda.KindOf(m.Path)
		if !ok || m.File.Inode == 0 {
			continue
		}
		driver = driver || kind == cuda.Driver
		if t.library(m.File) != nil || m.Perm&process.Exec == 0 {
			continue
		}
		if !s.hasRoom(t, kind, maxLibrariesOfKind) {
			beyond.add(kind, m)
			continue
		}
		file, err := s.fs.OpenMapping(t.pid, m)
		if err != nil {
			if s.hasEnded(t) {
				return
			}
			s.misses(t.pid, since, metersThrough(kind), "pid %d: %s could not be opened: %v", t.pid, clean(m.Path), err)
			continue
		}
		if !s.adopt(t, file, kind, true) {
			continue
		}
		if !first && kind != cuda.Loader && kind != cuda.Runtime { // without the runtime's names nothing is missing
			s.late = append(s.late, fmt.Sprintf("%s in pid %d", clean(m.Path), t.pid))
			if kind == cuda.Torch { // a tensor may have been made meanwhile
				_ = s.ledger.Late(ledger.GroupTorchCPU, t.pid) // else it has ended
			}
		}
	}
	s.sayCrowd(t, since, beyond)
	if slices.ContainsFunc(t.libraries, func(l *library) bool { return l.sites.Kind == cuda.Driver && len(l.probes) > 0 }) {
		s.identify(t, driver)
	}
	if driver {
		s.missTotals(t)
	}
}

// missTotals says of a target that uses a GPU that its PyTorch does not tell what it has there.
func (s *Session) missTotals(t *target) {
	for _, l := range t.libraries {
		if l.sites.Tensors.Present() && l.sites.Report.Symbol == "" && !l.told {
			l.told = true
			s.problem("pid %d: %s does not export c10::reportMemoryUsageToProfiler with totals (PyTorch 1.12): gpu.N.active and gpu.N.reserved are not seen",
				t.pid, clean(l.file.Mapping.Path))
		}
	}
}

// metersThrough are the meters of what is taken through a library.
func metersThrough(kind cuda.Kind) []event.Meter {
	switch kind {
	case cuda.Driver:
		return []event.Meter{event.OfDevice(0, event.Driver), event.OfDevice(0, event.Unattributed), event.Pinned}
	case cuda.Torch:
		return []event.Meter{event.OfDevice(0, event.Active), event.OfDevice(0, event.Reserved), event.Torch}
	}
	return nil
}

func clean(name string) string { return strings.ToValidUTF8(name, "?") }

// hasEnded says whether a target is gone: then nothing of it can be opened any more.
func (s *Session) hasEnded(t *target) bool { return t.lives() != nil }

func (t *target) library(id process.FileID) *library {
	for _, l := range t.libraries {
		if l.file.Mapping.File == id {
			return l
		}
	}
	return nil
}

// adopt puts probes on a library. It takes the file over.
func (s *Session) adopt(t *target, file *process.MappedFile, kind cuda.Kind, mapped bool) bool {
	name := clean(file.Mapping.Path)
	sites, err := cuda.Find(file.File, kind)
	l := &library{file: file, kind: kind, sites: sites, probes: map[ledger.Group]io.Closer{}}
	t.libraries = append(t.libraries, l) // even if it is of no use: it need not be looked at again
	if err != nil {
		if mapped && kind != cuda.Loader && kind != cuda.Runtime {
			s.misses(t.pid, 0, metersThrough(kind), "pid %d: %s: %v: memory taken through it is not seen", t.pid, name, err)
		}
		return false
	}
	if len(sites.Missing) > 0 && mapped {
		slices.Sort(sites.Missing)
		s.problem("pid %d: %s does not export %s: memory taken through them is not seen", t.pid, name, strings.Join(sites.Missing, ", "))
	}
	if err := s.placeLibrary(t, l); err != nil {
		if s.hasEnded(t) {
			return false // it has ended meanwhile
		}
		s.misses(t.pid, 0, metersThrough(kind), "pid %d: %s could not be probed: %v", t.pid, name, err)
		return false
	}
	s.noteLibrary(l)
	return true
}

// placeLibrary puts in what probes are not in place.
func (s *Session) placeLibrary(t *target, l *library) error {
	for g := range libraryPlacements(l.sites) {
		if s.budget.isShed(t.root, g) {
			continue
		}
		if err := s.placeGroup(t, l, g); err != nil {
			return err
		}
	}
	if err := s.placeCheckpoints(l); err != nil {
		return err
	}
	return s.budget.limitLibrary(l.sites)
}

// placeGroup puts a group's probes on a library, if it has any and they are not in place.
func (s *Session) placeGroup(t *target, l *library, g ledger.Group) error {
	placements := libraryPlacements(l.sites)[g]
	if len(placements) == 0 || l.probes[g] != nil {
		return nil
	}
	c, err := s.probeFile(t, l.file, placements)
	if err != nil {
		return err
	}
	l.probes[g] = c
	return nil
}

// placeCheckpoints probes, for every process, the functions by which one process suspends another's use of its GPUs. Hardly
// anybody calls them, so they cost nobody anything. One of a session's targets is enough for each file.
func (s *Session) placeCheckpoints(l *library) error {
	id := l.file.Mapping.File
	if len(l.sites.Others) == 0 || s.checkpoints[id] != nil {
		return nil
	}
	enter, leave := ledger.Placement{Program: ledger.CheckpointEnter}, ledger.Placement{Program: ledger.CheckpointLeave}
	for _, site := range l.sites.Others {
		enter.Offsets, enter.Cookies = append(enter.Offsets, site.Offset), append(enter.Cookies, site.Cookie)
		leave.Offsets = append(leave.Offsets, site.Offset)
	}
	if err := l.file.Prepare(enter.Offsets); err != nil {
		return err
	}
	c, err := s.ledger.Probe(l.file.File, 0, []ledger.Placement{leave, enter})
	if err != nil {
		return err
	}
	if s.checkpoints == nil {
		s.checkpoints = map[process.FileID]io.Closer{}
	}
	s.checkpoints[id] = c
	return nil
}

// libraryPlacements says which programs serve which group on a library.
func libraryPlacements(s cuda.Sites) map[ledger.Group][]ledger.Placement {
	one := func(p ledger.Program, site cuda.Site) []ledger.Placement {
		if site.Symbol == "" {
			return nil
		}
		return []ledger.Placement{{Program: p, Offsets: []uint64{site.Offset}}}
	}
	out := map[ledger.Group][]ledger.Placement{}
	switch s.Kind {
	case cuda.Driver:
		enter, leave := ledger.Placement{Program: ledger.CUDAEnter}, ledger.Placement{Program: ledger.CUDALeave}
		for _, site := range s.Driver {
			enter.Offsets, enter.Cookies = append(enter.Offsets, site.Offset), append(enter.Cookies, site.Cookie)
			leave.Offsets = append(leave.Offsets, site.Offset)
		}
		out[ledger.GroupDriver] = []ledger.Placement{leave, enter} // returns first: an entry without its return is a call that never ends
	case cuda.Runtime:
		enter := ledger.Placement{Program: ledger.RuntimeEnter}
		for _, site := range s.Runtime {
			enter.Offsets, enter.Cookies = append(enter.Offsets, site.Offset), append(enter.Cookies, site.Cookie)
		}
		out[ledger.GroupDriver] = []ledger.Placement{enter}
	case cuda.Torch:
		if s.Report.Symbol != "" {
			out[ledger.GroupTorch] = append(one(ledger.TorchReport, s.Report), one(ledger.TorchRefused, s.Refused)...)
		}
		if s.Tensors.Present() { // frees first: a block whose free was missed stays
			out[ledger.GroupTorchCPU] = slices.Concat(one(ledger.TensorFreed, s.Tensors.Freed), one(ledger.TensorMade, s.Tensors.Made),
				one(ledger.TensorRefused, s.Tensors.NoRoom))
		}
	case cuda.Loader:
		out[ledger.GroupLoader] = one(ledger.LibraryChanged, s.Loader)
	}
	return out
}

// noteLibrary records for the certificate where the probes are.
func (s *Session) noteLibrary(l *library) {
	where := path.Base(clean(l.file.Mapping.Path))
	switch l.sites.Kind {
	case cuda.Driver:
		where = fmt.Sprintf("%d functions of %s, entry and return", len(l.sites.Driver), where)
		s.noteUse(ledger.GroupDriver, where)
	case cuda.Runtime:
		s.noteUse(ledger.GroupDriver, fmt.Sprintf("%d functions of %s", len(l.sites.Runtime), where))
	case cuda.Torch:
		if l.sites.Report.Symbol != "" {
			s.noteUse(ledger.GroupTorch, "c10::reportMemoryUsageToProfiler in "+where)
		}
		if l.sites.Tensors.Present() {
			s.noteUse(ledger.GroupTorchCPU, "c10::ProfiledCPUMemoryReporter::New, Delete in "+where)
		}
	case cuda.Loader:
		s.noteUse(ledger.GroupLoader, l.sites.Loader.Symbol+" in "+where)
	}
}

// expectLibraries probes, ahead of time, the files that the target would load for CUDA and PyTorch: where its dynamic linker
// and its sys.path would look. It does nothing while sys.path is what it was: an interpreter that starts has none yet.
func (s *Session) expectLibraries(t *target) {
	modules, _ := t.python.live.Path()
	if t.python.expected && slices.Equal(modules, t.python.modules) {
		return
	}
	t.python.expected, t.python.modules = true, modules
	for _, name := range s.expected(t) {
		file, err := s.fs.OpenFile(t.pid, name)
		if err != nil {
			s.noteSilence(err)
			continue
		}
		kind, ok := cuda.KindOf(name)
		if !ok || t.library(file.Mapping.File) != nil || !s.hasRoom(t, kind, maxExpectedOfKind) {
			file.File.Close()
			continue
		}
		s.adopt(t, file, kind, false)
	}
	s.expectArrays(t)
}

// Where the driver is installed: distributions, NVIDIA's own installer, its container runtime, WSL.
var driverDirectories = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/usr/lib/x86_64-linux-gnu/nvidia/current",
	"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/local/cuda/compat", "/usr/lib/wsl/lib", "/run/opengl-driver/lib",
}

// Where wheels have the runtime, below sys.path.
var runtimes = []string{
	"nvidia/cu13/lib/libcudart.so.13", "nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cuda_runtime/lib/libcudart.so.11.0",
}

const maxExpected = 512

// expected lists the absolute names under which the libraries may be found.
func (s *Session) expected(t *target) (names []string) {
	variables, _ := s.fs.Variables(t.pid, "LD_LIBRARY_PATH", "CONDA_PREFIX")
	directories := strings.Split(variables["LD_LIBRARY_PATH"], ":")
	if prefix := variables["CONDA_PREFIX"]; prefix != "" {
		directories = append(directories, path.Join(prefix, "lib"))
	}
	for _, dir := range append(directories, driverDirectories...) {
		names = append(names, path.Join(dir, "libcuda.so.1"), path.Join(dir, "libc10.so"))
	}
	for _, dir := range t.python.modules {
		names = append(names, path.Join(dir, "torch/lib/libc10.so"))
		for _, runtime := range runtimes {
			names = append(names, path.Join(dir, runtime))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !path.IsAbs(name) })
	return names[:min(len(names), maxExpected)]
}

// stepDownLibraries takes the probes of a shed group out.
func (t *target) stepDownLibraries(g ledger.Group) {
	for _, l := range t.libraries {
		l.stepDown(g)
	}
}

// stepUpLibraries puts them back.
func (s *Session) stepUpLibraries(t *target, g ledger.Group) error {
	for _, l := range t.libraries {
		if err := s.placeGroup(t, l, g); err != nil {
			return err
		}
	}
	return nil
}

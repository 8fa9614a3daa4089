package instruments

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// ArrowInstrument is the instrument for cpu.arrow: probes on the functions of the memory pools in Arrow's library. If
// the file that pyarrow would load is found, they are on it before pyarrow loads it; else the library has joined late.
type ArrowInstrument struct {
	libraryFiles[*poolLibrary]
	*Host
	Target   *tracee.Target
	Analyses *Analyses
	crowded  bool // it was reported that some libraries have no room
}

// poolLibrary is an Arrow library of a target, loaded or expected, with probes on it.
type poolLibrary struct {
	file    *process.MappedFile
	sites   libc.PoolSites
	usable  bool      // its sites are known
	probes  io.Closer // nil: they are out
	refused error     // why memory taken through it is not seen
	mapped  bool      // by the target: only then something is missing
}

// poolAnalysis finds the functions of a library's pools, and keeps them in the cache.
var poolAnalysis = Analysis[libc.PoolSites]{Subject: "arrow", Find: libc.FindPools, Places: libc.PoolSites.Offsets}

const (
	maxPoolLibraries = 8 // of a target
	maxExpectedPools = 6 // up to this number, a library that may be loaded has probes as if it were loaded
)

// close takes the probes out and closes the file.
func (l *poolLibrary) close() {
	l.pause()
	l.file.File.Close()
}

func (l *poolLibrary) pause() {
	if l.probes != nil {
		_ = l.probes.Close()
		l.probes = nil
	}
}

func (l *poolLibrary) id() process.FileID { return l.file.Mapping.File }

// Meet puts probes on a library when the target first maps it.
func (i *ArrowInstrument) Meet(l tracee.Listing, m process.Mapping) {
	if !libc.IsArrow(m.Path) || m.File.Inode == 0 || m.Perm&process.Exec == 0 {
		return
	}
	pid, name := i.Target.PID, tracee.Clean(m.Path)
	if known := i.library(m.File); known != nil {
		i.report(known)
		return
	}
	if l.Last {
		i.JoinedLate(i.Target, name)
		return
	}
	if len(i.libraries) >= maxPoolLibraries || i.AllPlaces() >= MaxLibraries {
		if !i.crowded {
			i.crowded = true
			i.Misses(pid, l.Since, tracee.MetersOfPools,
				"pid %d: it maps more files that are named like %s than are looked at: what is taken through them is "+
					"not seen", pid, path.Base(name))
		}
		return
	}
	file := openMet(i.Host, i.Target, l, m, tracee.MetersOfPools)
	if file == nil {
		return
	}
	library := i.adopt(file)
	i.report(library)
	if library.refused == nil && !l.First {
		i.JoinedLate(i.Target, name, ledger.GroupArrow)
	}
}

// adopt puts probes on a library. It takes the file over.
func (i *ArrowInstrument) adopt(file *process.MappedFile) *poolLibrary {
	name := tracee.Clean(file.Mapping.Path)
	l := &poolLibrary{file: file}
	i.libraries = append(i.libraries, l) // even if it is of no use: it need not be examined again
	var err error
	if l.sites, err = poolAnalysis.Of(i.Analyses, i.Target.PID, file, file.File); err != nil {
		l.refused = fmt.Errorf("%s: %w: memory taken through it is not seen", name, err)
		return l
	}
	l.usable = true
	if err := i.placePools(l); err != nil {
		l.refused = fmt.Errorf("%s could not be probed: %w", name, err)
		return l
	}
	i.NoteUse(ledger.GroupArrow, fmt.Sprintf("%s of %s", strings.Join(l.sites.Pools, ", "), path.Base(name)))
	return l
}

// report reports, when the target maps a library, why its memory is not seen, and the pools that are not known.
func (i *ArrowInstrument) report(l *poolLibrary) {
	if l.mapped {
		return
	}
	l.mapped = true
	if l.refused != nil && !i.HasEnded(i.Target) {
		i.Misses(i.Target.PID, 0, tracee.MetersOfPools, "pid %d: %v", i.Target.PID, l.refused)
	}
	if len(l.sites.Others) > 0 {
		i.Problem("pid %d: %s has pools that are not known (%s): memory taken through them is not seen", i.Target.PID,
			tracee.Clean(l.file.Mapping.Path), strings.Join(l.sites.Others, ", "))
	}
}

// placePools puts the probes in, unless they are in place or paused.
func (i *ArrowInstrument) placePools(l *poolLibrary) error {
	if !l.usable || l.probes != nil || i.IsPaused(i.Target.Root, ledger.GroupArrow) {
		return nil
	}
	c, err := i.ProbeFile(i.Target, l.file, ofPools(l.sites))
	if err != nil {
		return err
	}
	l.probes = c
	return nil
}

// Expect puts probes, ahead of time, on the libraries that pyarrow would load where the target's sys.path has it.
func (i *ArrowInstrument) Expect(modules []string) {
	for _, name := range i.Expected(modules) {
		if len(i.libraries) >= maxExpectedPools {
			return
		}
		file, err := i.OpenFile(i.Target.PID, name)
		if err != nil {
			continue
		}
		if i.library(file.Mapping.File) != nil || i.AllPlaces() >= MaxLibraries {
			file.File.Close()
			continue
		}
		i.adopt(file)
	}
}

// Module returns the name of pyarrow's extension module for the target's Python, in a folder of its sys.path.
func (i *ArrowInstrument) Module(folder string) string {
	v := i.Target.Python.Binary.Version()
	return path.Join(folder, fmt.Sprintf("pyarrow/lib.cpython-%d%d-%s.so", v.Major, v.Minor, elffile.Triplet))
}

// libraryDirectories are the folders in which distributions install libraries.
var libraryDirectories = []string{"/usr/lib/" + elffile.Triplet, "/lib/" + elffile.Triplet, "/usr/lib64", "/lib64",
	"/usr/lib", "/usr/local/lib"}

// Expected lists the absolute names under which the libraries may be found. pyarrow's own module names the library of
// Arrow that it needs; the dynamic linker looks for it in LD_LIBRARY_PATH, beside the module (wheels), in the
// environment's folder (conda) and in the system's.
func (i *ArrowInstrument) Expected(modules []string) (names []string) {
	for _, dir := range modules[:min(len(modules), MaxExpected/2)] {
		if !path.IsAbs(dir) {
			continue
		}
		file, err := i.OpenFile(i.Target.PID, i.Module(dir))
		if err != nil {
			continue
		}
		needed := libc.NeededArrow(file.File)
		file.File.Close()
		if needed == "" {
			continue
		}
		variables := i.Variables(i.Target.PID, "LD_LIBRARY_PATH", "CONDA_PREFIX")
		folders := strings.Split(variables["LD_LIBRARY_PATH"], ":")
		folders = append(folders, path.Join(dir, "pyarrow"), path.Join(dir, "../.."))
		if prefix := variables["CONDA_PREFIX"]; prefix != "" {
			folders = append(folders, path.Join(prefix, "lib"))
		}
		for _, folder := range append(folders, libraryDirectories...) {
			if name := path.Join(folder, needed); path.IsAbs(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names[:min(len(names), MaxExpected)]
}

func (i *ArrowInstrument) Pause(g ledger.Group) {
	if g != ledger.GroupArrow {
		return
	}
	for _, l := range i.libraries {
		l.pause()
	}
}

func (i *ArrowInstrument) Resume(g ledger.Group) error {
	if g != ledger.GroupArrow {
		return nil
	}
	for _, l := range i.libraries {
		if err := i.placePools(l); err != nil {
			return err
		}
	}
	return nil
}

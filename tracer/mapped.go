package tracer

import (
	"fmt"
	"io"
	"path"
	"slices"

	"ipytracer/internal/code/libc"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/places"
)

// mappedInstrument is the instrument for the lines of cpu.mapped. It probes the places in mmap and mremap at which a C
// library asks for memory.
type mappedInstrument struct {
	inert
	*host
	target    *target
	analyses  *analyses
	libraries []*mappingLibrary
	crowded   bool // it was reported that some libraries are left out
}

// callAnalysis caches the places at which a C library asks for memory.
var callAnalysis = analysis[libc.Calls]{subject: "mmap", find: libc.FindCalls, places: libc.Calls.Offsets}

// mappingLibrary is a C library with its probes.
type mappingLibrary struct {
	file   *process.MappedFile
	probes io.Closer // nil: the library could not be probed, and is not examined again
}

func (i *mappedInstrument) close() {
	for _, l := range i.libraries {
		if l.probes != nil {
			_ = l.probes.Close()
		}
		l.file.File.Close()
	}
	i.libraries = nil
}

// meet probes a C library when it is first mapped.
func (i *mappedInstrument) meet(_ listing, m process.Mapping) {
	if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !libc.IsLibc(m.Path) ||
		slices.ContainsFunc(i.libraries, func(l *mappingLibrary) bool { return l.file.Mapping.File == m.File }) {
		return
	}
	pid := i.target.pid
	if len(i.libraries) >= maxLibcs {
		if !i.crowded {
			i.crowded = true
			i.leavesUnnamed("pid %d: it maps more than %d files that are named like a C library: what is mapped "+
				"through the others has no lines", pid, maxLibcs)
		}
		return
	}
	file, err := i.openMapping(pid, m)
	if err != nil {
		if !i.hasEnded(i.target) {
			i.leavesUnnamed("pid %d: %s could not be opened: %v: what mmap maps through it has no lines", pid,
				clean(m.Path), err)
		}
		return
	}
	l := &mappingLibrary{file: file}
	i.libraries = append(i.libraries, l)
	calls, err := callAnalysis.of(i.analyses, pid, file, file.File)
	if err == nil {
		l.probes, err = i.probeFile(i.target, file, places.OfCalls(calls))
	}
	if err != nil {
		if !i.hasEnded(i.target) {
			i.leavesUnnamed("pid %d: %s: %v: what mmap maps has no lines", pid, clean(m.Path), err)
		}
		return
	}
	i.noteUse(ledger.GroupMapping, fmt.Sprintf("%s in %s", places.Describe(slices.Concat(calls.Mmap, calls.Mremap)),
		path.Base(clean(m.Path))))
}

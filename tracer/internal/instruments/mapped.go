package instruments

import (
	"fmt"
	"io"
	"path"
	"slices"

	"ipytracer/internal/code/libc"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// MappedInstrument is the instrument for the lines of cpu.mapped. It probes the places in mmap and mremap at which a C
// library asks for memory.
type MappedInstrument struct {
	tracee.Inert
	*Host
	Target    *tracee.Target
	Analyses  *Analyses
	libraries []*mappingLibrary
	crowded   bool // it was reported that some libraries are left out
}

// callAnalysis caches the places at which a C library asks for memory.
var callAnalysis = Analysis[libc.Calls]{Subject: "mmap", Find: libc.FindCalls, Places: libc.Calls.Offsets}

// mappingLibrary is a C library with its probes.
type mappingLibrary struct {
	file   *process.MappedFile
	probes io.Closer // nil: the library could not be probed, and is not examined again
}

func (i *MappedInstrument) Close() {
	for _, l := range i.libraries {
		if l.probes != nil {
			_ = l.probes.Close()
		}
		l.file.File.Close()
	}
	i.libraries = nil
}

// Meet probes a C library when it is first mapped.
func (i *MappedInstrument) Meet(_ tracee.Listing, m process.Mapping) {
	if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !libc.IsLibc(m.Path) ||
		slices.ContainsFunc(i.libraries, func(l *mappingLibrary) bool { return l.file.Mapping.File == m.File }) {
		return
	}
	pid := i.Target.PID
	if len(i.libraries) >= MaxLibcs {
		if !i.crowded {
			i.crowded = true
			i.LeavesUnnamed("pid %d: it maps more than %d files that are named like a C library: what is mapped "+
				"through the others has no lines", pid, MaxLibcs)
		}
		return
	}
	file, err := i.OpenMapping(pid, m)
	if err != nil {
		if !i.HasEnded(i.Target) {
			i.LeavesUnnamed("pid %d: %s could not be opened: %v: what mmap maps through it has no lines", pid,
				tracee.Clean(m.Path), err)
		}
		return
	}
	l := &mappingLibrary{file: file}
	i.libraries = append(i.libraries, l)
	calls, err := callAnalysis.Of(i.Analyses, pid, file, file.File)
	if err == nil {
		l.probes, err = i.ProbeFile(i.Target, file, ofCalls(calls))
	}
	if err != nil {
		if !i.HasEnded(i.Target) {
			i.LeavesUnnamed("pid %d: %s: %v: what mmap maps has no lines", pid, tracee.Clean(m.Path), err)
		}
		return
	}
	i.NoteUse(ledger.GroupMapping, fmt.Sprintf("%s in %s", Describe(slices.Concat(calls.Mmap, calls.Mremap)),
		path.Base(tracee.Clean(m.Path))))
}

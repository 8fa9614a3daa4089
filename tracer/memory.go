package tracer

import (
	"fmt"
	"io"
	"path"
	"slices"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/libc"
	"ipytracer/tracer/machine"
	"ipytracer/tracer/process"
)

// memoryLibrary is a library of a target in which it asks for memory, with probes on it.
type memoryLibrary struct {
	file  *process.MappedFile
	calls io.Closer // the probes on mmap and mremap; nil: none
}

func (l *memoryLibrary) close() {
	if l.calls != nil {
		_ = l.calls.Close()
		l.calls = nil
	}
}

func closeMemory(libraries []*memoryLibrary) {
	for _, l := range libraries {
		l.close()
		l.file.File.Close()
	}
}

// adoptMemory puts the probes for lines of cpu.mapped on a target's C library, when it meets it first.
func (s *Session) adoptMemory(t *target, m process.Mapping) {
	if s.options.NoStacks || m.Perm&process.Exec == 0 || m.File.Inode == 0 || !libc.IsLibc(m.Path) {
		return
	}
	if slices.ContainsFunc(t.memory, func(l *memoryLibrary) bool { return l.file.Mapping.File == m.File }) {
		return
	}
	if len(t.memory) >= maxLibcs {
		if !t.manyLibcs {
			t.manyLibcs = true
			s.misses(t.pid, 0, nil, "pid %d: it maps more than %d files that are named like a C library: what is mapped through the others has no lines", t.pid, maxLibcs)
		}
		return
	}
	file, err := s.fs.OpenMapping(t.pid, m)
	if err != nil {
		if s.hasEnded(t) {
			return
		}
		s.misses(t.pid, 0, nil, "pid %d: %s could not be opened: %v", t.pid, clean(m.Path), err)
		return
	}
	l := &memoryLibrary{file: file}
	t.memory = append(t.memory, l) // even if it is of no use: it need not be looked at again
	calls, err := libc.FindCalls(file.File)
	if err == nil {
		l.calls, err = s.probeFile(t, file, callPlacements(calls))
	}
	if err != nil {
		if !s.hasEnded(t) {
			s.misses(t.pid, 0, nil, "pid %d: %s: %v: what mmap maps has no lines", t.pid, clean(m.Path), err)
		}
		return
	}
	s.noteUse(ledger.GroupMapping, fmt.Sprintf("%s in %s", describeSites(slices.Concat(calls.Mmap, calls.Mremap)), path.Base(clean(m.Path))))
}

func callPlacements(c libc.Calls) (placements []ledger.Placement) {
	add := func(p ledger.Program, sites []machine.Site) {
		if len(sites) == 0 {
			return
		}
		one := ledger.Placement{Program: p}
		for _, site := range sites {
			one.Offsets = append(one.Offsets, site.FileOffset)
		}
		placements = append(placements, one)
	}
	add(ledger.MmapReturned, c.Mmap)
	add(ledger.MremapReturned, c.Mremap)
	return placements
}

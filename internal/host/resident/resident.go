// Package resident divides the resident memory of a process into kinds. Kinds are pages of files, memory that malloc
// has given out or keeps free, Python's own pools of small objects, shared memory, and others. It reads
// /proc/PID/smaps, pagemap and mem. It runs nothing in the process, and reads no page that is not resident. The kernel
// half's ledger has the total at any moment, and internal/python/holders finds the holders of objects.
//
// The memory of the process is hostile. Memory counts as a heap or a pool only if all headers in it agree with each
// other; the rest is [Other]. The parts always add up to the total.
package resident

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"ipytracer/internal/host/allocators"
)

// Kind is the kind of a part of resident memory.
type Kind string

// The kinds.
const (
	Files      Kind = "files"       // pages of files: code and constants of libraries, and other mapped files
	Libraries  Kind = "libraries"   // pages of files that the process has changed: libraries' variables and relocations
	Objects    Kind = "objects"     // Python's small objects, of up to 512 bytes, in use
	ObjectFree Kind = "object-free" // free memory for such objects in Python's pools
	Malloc     Kind = "malloc"      // blocks in malloc's heaps that malloc has given out
	MallocBig  Kind = "malloc-big"  // blocks for which malloc has made a mapping of their own
	MallocFree Kind = "malloc-free" // free memory of malloc's heaps
	Shared     Kind = "shared"      // shared memory
	// What other allocators have given out, with their own data, and what they keep.
	Jemalloc, JemallocFree Kind = "jemalloc", "jemalloc-free"
	Mimalloc, MimallocFree Kind = "mimalloc", "mimalloc-free"
	Stack                  Kind = "stack" // the stack of the main thread
	Other                  Kind = "other" // memory of no known kind
)

// Part is memory of one kind, in bytes.
type Part struct {
	Kind    Kind
	Bytes   uint64
	Returns uint64 // the part that the allocator would give back if asked
	// File is the allocator's library; for files in /dev/shm, and deleted ones, their path without what differs between
	// files of one origin; "" for all others.
	File string
}

// Account divides all resident memory into parts. Sizes are in bytes.
type Account struct {
	Parts []Part // without empty parts, in the order of kinds
	Total uint64
	// Trim is the part of MallocFree that malloc_trim(0) would give back: its whole pages.
	Trim uint64
	// Complete is false if a limit was hit. Memory that was not examined is then in Other.
	Complete bool
	Falls    *Falls // nil without Source.Freed
	// Swapped is memory in swap, and Huge is in huge pages of hugetlbfs. Linux counts neither as resident.
	Swapped, Huge uint64
}

// Limits limit what [Explain] reads.
type Limits struct {
	Bytes int64           // of the process's memory; 0: 512 MiB
	Time  time.Duration   // by Used; 0: 1 s
	Ended <-chan struct{} // once it is closed, nothing more is read; may be nil
	// Used returns the processor time of the thread, to which the caller is locked. Elapsed time then only ends reads
	// that hang. If Used is nil, elapsed time counts instead.
	Used func() time.Duration
}

// Source has the files of a process that are read, and facts about the process.
type Source struct {
	Smaps         io.Reader   // /proc/PID/smaps
	Memory, Pages io.ReaderAt // /proc/PID/mem and pagemap; nil if they cannot be read
	Python        int         // the minor version of its Python 3; 0 for none
	PageSize      uint64      // the size of a page in bytes; 0: this machine's
	Freed         *Freed      // blocks whose release is to be examined; may be nil
}

// Reading smaps takes long, because Linux counts the pages of each mapping then.
const (
	smapsTimes = 3                      // it may take this many times Limits.Time
	lastTime   = 500 * time.Millisecond // how long it may take once Limits.Ended is closed
)

// overdue returns a function that reports whether reading smaps must end.
func (l Limits) overdue() func() bool {
	until, ended := l.Used()+smapsTimes*l.Time, l.Ended
	by := time.Now().Add(patience * smapsTimes * l.Time)
	return func() bool {
		now := time.Now()
		select {
		case <-ended:
			ended = nil
			if last := now.Add(lastTime); last.Before(by) {
				by = last
			}
		default:
		}
		return l.Used() > until || now.After(by)
	}
}

// kinds is the order of the parts.
var kinds = []Kind{Objects, ObjectFree, Malloc, MallocBig, MallocFree, Jemalloc, JemallocFree, Mimalloc, MimallocFree,
	Libraries, Files, Shared, Stack, Other}

// Explain divides the resident memory of a process into kinds. It fails if smaps cannot be read.
func Explain(s Source, limits Limits) (Account, error) {
	if limits.Bytes <= 0 {
		limits.Bytes = 512 << 20
	}
	if limits.Time <= 0 {
		limits.Time = time.Second
	}
	if limits.Used == nil {
		began := time.Now()
		limits.Used = func() time.Duration { return time.Since(began) }
	}
	mappings, err := readSmaps(s.Smaps, limits.overdue())
	if err != nil {
		return Account{}, fmt.Errorf("smaps: %w", err)
	}
	x := &explainer{reader: newReader(s, limits), python: s.Python, bytes: map[Kind]uint64{},
		falling: newFalling(s.Freed), returns: map[Kind]uint64{},
		named: map[Kind]map[string]uint64{}}
	a := Account{}
	mappings = join(mappings)
	x.findExtents(mappings)
	files := filesOf(mappings)
	for _, m := range mappings {
		a.Total, a.Swapped, a.Huge = a.Total+m.resident, a.Swapped+m.swapped, a.Huge+m.huge
		x.explain(m)
	}
	for _, k := range kinds {
		n := x.bytes[k]
		for _, file := range slices.Sorted(maps.Keys(x.named[k])) {
			a.Parts = append(a.Parts, Part{Kind: k, Bytes: x.named[k][file], File: file})
			n -= x.named[k][file]
		}
		if n > 0 {
			a.Parts = append(a.Parts, Part{Kind: k, Bytes: n, Returns: min(n, x.returns[k]), File: files[k]})
		}
	}
	a.Trim, a.Complete, a.Falls = x.trim, !x.reader.stopped, x.falling.end()
	return a, nil
}

// explainer adds up the parts of an [Account].
type explainer struct {
	*reader
	python int
	bytes  map[Kind]uint64
	trim   uint64

	extents []allocators.Extent // of allocators other than glibc's, by address
	returns map[Kind]uint64     // bytes that they would give back
	named   map[Kind]map[string]uint64

	falling *falling // nil without Source.Freed
}

// explain divides the resident bytes of a mapping among the kinds. It counts no byte twice, and no more than there are.
func (x *explainer) explain(r mapping) {
	left := r.resident
	give := func(k Kind, bytes uint64) {
		bytes = min(bytes, left)
		x.bytes[k] += bytes
		left -= bytes
	}
	x.maps(r)
	switch {
	case r.shared:
		x.name(Shared, r.unlinked, left)
		give(Shared, left)
	case r.file:
		give(Libraries, r.anonymous)
		x.name(Files, r.unlinked, left)
		give(Files, left)
	case r.name == "[stack]":
		give(Stack, left)
	case x.memory != nil && x.pagemap != nil && r.writable && left > 0:
		x.private(r, give)
	}
	give(Other, left)
}

// maxNamed is the largest number of files of a kind that are parts of their own.
const maxNamed = 32

// name counts memory of a kind as that of a file, if the file has a name.
func (x *explainer) name(k Kind, file string, bytes uint64) {
	_, known := x.named[k][file]
	if file == "" || bytes == 0 || !known && len(x.named[k]) >= maxNamed {
		return
	}
	if x.named[k] == nil {
		x.named[k] = map[string]uint64{}
	}
	x.named[k][file] += bytes
}

// private divides a private mapping without a file: a heap of malloc's, blocks that malloc has mapped, Python's pools.
func (x *explainer) private(r mapping, give func(Kind, uint64)) {
	if !x.load(r) {
		return
	}
	x.residentBlocks(r)
	for _, part := range x.parts(r) {
		for _, rest := range x.takeExtents(part, give) {
			x.part(rest, give)
		}
	}
}

// parts divides a mapping at each address where a heap of malloc's begins. Linux merges the mappings of a heap and of
// private memory in front of it.
func (x *explainer) parts(r mapping) (parts []mapping) {
	for at := (r.start/heapMost + 1) * heapMost; at < r.end && r.name == ""; at += heapMost {
		candidate := r
		candidate.start, candidate.end = at, min(r.end, at+heapMost)
		if _, isHeap := x.heap(candidate); isHeap {
			before := r
			before.end = at
			parts = append(parts, before)
			r.start = at
		}
	}
	return append(parts, r)
}

// part divides a part of a loaded mapping.
func (x *explainer) part(r mapping, give func(Kind, uint64)) {
	if h, ok := x.heap(r); ok {
		free := x.residentIn(h.free...)
		if r.name == "[heap]" { // malloc_trim does not trim the tops of other arenas
			x.trim += x.residentIn(h.top)
		} else if n := len(h.whole); h.joins && n > 0 {
			h.whole = h.whole[:n-1]
		}
		x.trim += x.residentIn(h.whole...)
		x.trims(h.pages)
		x.heapBlocks(r)
		give(MallocFree, free)
		give(Malloc, x.residentIn(span{h.start, h.end})-free)
		return
	}
	found := x.scan(r)
	x.mappedBlocks(found.big)
	if r.name == "[heap]" { // a heap whose chunks could not be walked
		x.heapBlocks(r)
	}
	give(MallocBig, x.residentIn(found.big...))
	give(Objects, found.used)
	give(ObjectFree, found.free)
}

// join merges adjacent private mappings without a file. Linux has several mappings if only a part may have huge pages,
// but a single one for several blocks that malloc has mapped. A mapping that may be a heap of malloc's, by its address
// and its size, is not merged with the one before it.
func join(mappings []mapping) (joined []mapping) {
	plain := func(m mapping) bool { return !m.file && !m.shared && m.name == "" && m.writable }
	mayBeHeap := func(m mapping) bool { return m.start%heapMost == 0 && m.end-m.start <= heapMost }
	belongTogether := func(before, m mapping) bool {
		if before.end != m.start {
			return false
		}
		bothPlain := plain(before) && plain(m) && !mayBeHeap(m)
		return bothPlain || m.name == "[heap]" && before.name == m.name
	}
	for _, m := range mappings {
		n := len(joined)
		if n > 0 && belongTogether(joined[n-1], m) {
			joined[n-1].end = m.end
			joined[n-1].resident += m.resident
			joined[n-1].swapped += m.swapped
			joined[n-1].huge += m.huge
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

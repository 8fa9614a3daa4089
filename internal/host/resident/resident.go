// Package resident explains where the resident memory of a process is: in pages of files, in memory that malloc has
// given out or keeps free, in Python's own pools of small objects, in shared memory. It reads /proc/PID/smaps, pagemap
// and mem; nothing runs in the process, and no page that is not resident is read. The kernel ledger has the total at
// any moment, and internal/python/holders finds the holders of objects.
//
// Everything read is hostile. A heap or a pool counts as one only if its own headers agree with each other from one end
// to the other; the rest is [Other]. The parts always add up to the total.
package resident

import (
	"fmt"
	"io"
	"time"
)

// Kind is the kind of a part of resident memory.
type Kind string

// The kinds.
const (
	Files      Kind = "files"       // pages of files: code and constants of libraries, and other mapped files
	Libraries  Kind = "libraries"   // pages that libraries have written to: their variables and relocations
	Objects    Kind = "objects"     // Python's small objects, of up to 512 bytes, in use
	ObjectFree Kind = "object-free" // room for such objects in pools that Python keeps
	Malloc     Kind = "malloc"      // blocks that malloc has given out, in its heaps
	MallocBig  Kind = "malloc-big"  // blocks that malloc has mapped one by one
	MallocFree Kind = "malloc-free" // free memory of malloc's heaps
	Shared     Kind = "shared"      // shared memory
	Stack      Kind = "stack"       // of the main thread
	Other      Kind = "other"       // not explained
)

// Part is memory of one kind, in bytes.
type Part struct {
	Kind  Kind
	Bytes uint64
}

// Account is where all of the resident memory is.
type Account struct {
	Parts []Part // in the order of the kinds; those of 0 bytes are left out
	Total uint64
	// Trim is the part of MallocFree that malloc_trim(0) would give back: whole pages.
	Trim uint64
	// Complete is false where a limit was hit: parts that were not looked at are in Other.
	Complete bool
	Falls    *Falls // nil where nobody asked
}

// Limits bound the reads.
type Limits struct {
	Bytes int64           // of the process's memory, 512 MiB
	Time  time.Duration   // by Used, 1 s
	Ended <-chan struct{} // nothing more is read once it is closed; nil: none
	// Used returns the processor time of the thread, to which the caller is locked. The clock on the wall only ends
	// reads that are held up. It serves instead where Used is nil.
	Used func() time.Duration
}

// Source has the files of a process that are read.
type Source struct {
	Smaps         io.Reader   // /proc/PID/smaps
	Memory, Pages io.ReaderAt // /proc/PID/mem and pagemap; nil where they cannot be read
	Python        int         // minor version of its Python 3, 0 for none
	PageSize      uint64      // bytes of a page of its memory; 0: as on this machine
	Freed         *Freed      // blocks that would be freed; nil: nobody asks
}

// The kernel counts the pages of each mapping as smaps is read: that may take smapsTimes as long as [Limits.Time], and
// once nothing more is to be read, lastTime.
const (
	smapsTimes = 3
	lastTime   = 500 * time.Millisecond
)

// overdue returns a function that reports whether smaps is to be read no further.
func (l Limits) overdue() func() bool {
	until, by, ended := l.Used()+smapsTimes*l.Time, time.Now().Add(patience*smapsTimes*l.Time), l.Ended
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
var kinds = []Kind{Objects, ObjectFree, Malloc, MallocBig, MallocFree, Libraries, Files, Shared, Stack, Other}

// Explain returns the kinds of the resident memory. It fails where smaps cannot be read.
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
	all, err := readSmaps(s.Smaps, limits.overdue())
	if err != nil {
		return Account{}, fmt.Errorf("smaps: %w", err)
	}
	x := &explainer{reader: newReader(s, limits), python: s.Python, bytes: map[Kind]uint64{},
		falling: newFalling(s.Freed)}
	a := Account{}
	for _, r := range join(all) {
		a.Total += r.resident
		x.explain(r)
	}
	for _, k := range kinds {
		if n := x.bytes[k]; n > 0 {
			a.Parts = append(a.Parts, Part{k, n})
		}
	}
	a.Trim, a.Complete, a.Falls = x.trim, !x.reader.stopped, x.falling.end()
	return a, nil
}

// explainer adds up.
type explainer struct {
	*reader
	python int
	bytes  map[Kind]uint64
	trim   uint64

	falling *falling // nil where nobody asks
}

// explain takes one mapping: its resident bytes go to kinds, none twice, and none more than there are.
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
		give(Shared, left)
	case r.file:
		give(Libraries, r.anonymous)
		give(Files, left)
	case r.name == "[stack]":
		give(Stack, left)
	case x.memory != nil && x.pagemap != nil && r.writable && left > 0:
		x.private(r, give)
	}
	give(Other, left)
}

// private takes a private mapping without a file: a heap of malloc's, blocks that malloc mapped, Python's pools.
func (x *explainer) private(r mapping, give func(Kind, uint64)) {
	if !x.load(r) {
		return
	}
	x.residentBlocks(r)
	for _, one := range x.parts(r) {
		x.part(one, give)
	}
}

// parts divides a mapping where a heap of malloc's begins in it: the kernel makes one mapping of a heap and of private
// memory in front of it.
func (x *explainer) parts(r mapping) (out []mapping) {
	for at := (r.start/heapMost + 1) * heapMost; at < r.end && r.name == ""; at += heapMost {
		later := r
		later.start, later.end = at, min(r.end, at+heapMost)
		if _, is := x.heap(later); is {
			before := r
			before.end = at
			out = append(out, before)
			r.start = at
		}
	}
	return append(out, r)
}

// part takes a part of a mapping that has been loaded.
func (x *explainer) part(r mapping, give func(Kind, uint64)) {
	if h, ok := x.heap(r); ok {
		free := x.residentIn(h.free...)
		if r.name == "[heap]" { // the tops of other arenas are not trimmed
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
	if r.name == "[heap]" { // that could not be walked
		x.heapBlocks(r)
	}
	give(MallocBig, x.residentIn(found.big...))
	give(Objects, found.used)
	give(ObjectFree, found.free)
}

// join makes one of private mappings without a file that lie side by side: the kernel has several where a part may be
// of huge pages, and one where malloc mapped several blocks. A mapping that begins where a heap of malloc's may, and is
// no larger than one, stays apart.
func join(all []mapping) (out []mapping) {
	plain := func(m mapping) bool { return !m.file && !m.shared && m.name == "" && m.writable }
	mayBeHeap := func(m mapping) bool { return m.start%heapMost == 0 && m.end-m.start <= heapMost }
	for _, m := range all {
		n := len(out)
		if n > 0 && out[n-1].end == m.start &&
			(plain(m) && plain(out[n-1]) && !mayBeHeap(m) || m.name == "[heap]" && out[n-1].name == m.name) {
			out[n-1].end = m.end
			out[n-1].resident += m.resident
			continue
		}
		out = append(out, m)
	}
	return out
}

package instruments

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/cuda"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/tracee"
)

// HeapInstrument is the instrument for cpu.heap: probes on the functions that a target calls for malloc and its
// relatives.
type HeapInstrument struct {
	tracee.Inert
	*Host
	Target   *tracee.Target
	Analyses *Analyses
	files    []*process.MappedFile
	probes   []io.Closer
	done     bool // placed, or given up
	tries    int
}

// allocatorAnalysis returns the analysis of an allocator's functions with these names, and how it is kept.
func allocatorAnalysis(names []string) Analysis[[]libc.Function] {
	return Analysis[[]libc.Function]{
		Subject: "allocator " + strings.Join(names, " "),
		Find:    func(r io.ReaderAt) ([]libc.Function, error) { return libc.FindFunctions(r, names) },
		Places:  libc.Offsets,
	}
}

func (i *HeapInstrument) Close() {
	for _, p := range i.probes {
		_ = p.Close()
	}
	for _, f := range i.files {
		f.File.Close()
	}
	i.probes, i.files = nil, nil
}

// heapPatience is the largest number of searches for the allocator of a starting program, 20 ms apart.
const heapPatience = 500

// Settle places the probes, once the target's dynamic linker has determined which functions are called.
func (i *HeapInstrument) Settle() {
	if i.done {
		return
	}
	if i.Target.OwnHeap.Counts() {
		i.done = true
		i.NoteUse(ledger.GroupHeap, fmt.Sprintf("none of blocks below 64 KiB in pid %d, which it counts itself",
			i.Target.PID))
		return
	}
	i.tries++
	err := i.placeAllocators()
	if errors.Is(err, libc.ErrUnsettled) && i.tries < heapPatience {
		return
	}
	i.done = true
	if err != nil && i.Target.OwnHeap != nil {
		_ = i.Target.OwnHeap.Leave() // it does not count, and an error means that it has ended
	}
	if pid := i.Target.PID; err != nil && !i.HasEnded(i.Target) {
		i.Misses(pid, 0, []event.Meter{event.Heap},
			"pid %d: the allocator could not be probed: %v: nothing of cpu.heap is seen", pid, err)
	}
}

func (i *HeapInstrument) Due() time.Time {
	if i.done {
		return time.Time{}
	}
	return time.Now().Add(tracee.BetweenLooks)
}

func (i *HeapInstrument) placeAllocators() error {
	objects, err := i.linked()
	if err != nil {
		return err
	}
	defines := make([][]string, len(objects))
	for at, m := range objects {
		file, err := i.OpenMapping(i.Target.PID, m)
		if err != nil || i.isOwnLibrary(m) {
			continue // not a file: the kernel's own, or gone; or it passes calls on
		}
		defines[at], _ = libc.Defines(file.File)
		file.File.Close()
	}
	owned := libc.Owned(defines)
	if err := i.giveUpOwn(objects, owned); err != nil {
		return err
	}
	for at, m := range objects {
		if len(owned[at]) == 0 {
			continue
		}
		if err := i.placeAllocator(m, owned[at]); err != nil {
			return fmt.Errorf("%s: %w", tracee.Clean(m.Path), err)
		}
	}
	if len(i.probes) == 0 { // the linker's list of a program that has just begun contains only the program
		return fmt.Errorf("%w: no library exports malloc", libc.ErrUnsettled)
	}
	return nil
}

// isOwnLibrary reports whether a mapping is of the library with which the target was to count its blocks itself.
func (i *HeapInstrument) isOwnLibrary(m process.Mapping) bool {
	return i.Target.OwnHeap != nil && m.File == i.Target.OwnHeap.Library
}

// giveUpOwn notes that the target does not count its blocks itself, once its allocator is known. It fails with
// [libc.ErrUnsettled] while the target may yet begin to.
func (i *HeapInstrument) giveUpOwn(objects []process.Mapping, owned [][]string) error {
	ownsMalloc := func(names []string) bool { return slices.Contains(names, "malloc") }
	if i.Target.OwnHeap == nil || !slices.ContainsFunc(owned, ownsMalloc) {
		return nil
	}
	if slices.ContainsFunc(objects, i.isOwnLibrary) && !i.Target.OwnHeap.Refuses() {
		return fmt.Errorf("%w: its library has not begun", libc.ErrUnsettled)
	}
	return i.Target.OwnHeap.Leave()
}

// linked returns the target's loaded objects, in the order in which symbols are looked up, up to the C library.
func (i *HeapInstrument) linked() ([]process.Mapping, error) {
	var mappings []process.Mapping
	var loader *process.Mapping
	for m, err := range i.Mappings(i.Target.PID) {
		if err != nil {
			return nil, err
		}
		mappings = append(mappings, m)
		kind, known := cuda.KindOf(m.Path)
		if loader == nil && m.Perm&process.Exec != 0 &&
			(known && kind == cuda.Loader || strings.HasPrefix(path.Base(m.Path), "ld-musl-")) {
			loader = &m
		}
	}
	if loader == nil {
		return nil, fmt.Errorf("%w: the program is linked statically", libc.ErrUnknown)
	}
	file, err := i.OpenMapping(i.Target.PID, *loader)
	if err != nil {
		return nil, err
	}
	defer file.File.Close()
	bias, err := loadBias(file.File, *loader)
	if err != nil {
		return nil, err
	}
	dynamic, err := libc.LinkOrder(i.Target.Python.Memory, file.File, bias)
	if err != nil {
		return nil, err
	}
	var order []process.Mapping
	for _, at := range dynamic {
		n, ok := slices.BinarySearchFunc(mappings, at, func(m process.Mapping, at uint64) int {
			switch {
			case m.End <= at:
				return -1
			case m.Start > at:
				return 1
			}
			return 0
		})
		if !ok || mappings[n].File.Inode == 0 {
			continue
		}
		order = append(order, mappings[n])
		// Libraries behind the C library define none of its symbols. A few may be in front of it.
		if libc.IsLibc(mappings[n].Path) || len(order) == maxInFront {
			break
		}
	}
	return order, nil
}

// maxInFront bounds how many libraries before the C library are examined.
const maxInFront = 256

// loadBias returns the offset from a file's addresses to those of an executable mapping of it.
func loadBias(r io.ReaderAt, m process.Mapping) (uint64, error) {
	f, err := elffile.Open(r)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", libc.ErrUnknown, err)
	}
	bias, ok := f.Bias(m.Start, m.Offset)
	if !ok {
		return 0, fmt.Errorf("%w: the dynamic linker is mapped in an unknown way", libc.ErrUnknown)
	}
	return bias, nil
}

// placeAllocator puts probes on an allocator's functions.
func (i *HeapInstrument) placeAllocator(m process.Mapping, names []string) error {
	pid := i.Target.PID
	file, err := i.OpenMapping(pid, m)
	if err != nil {
		return err
	}
	i.files = append(i.files, file)
	found, err := allocatorAnalysis(names).Of(i.Analyses, pid, file, file.File)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(f libc.Function) bool {
		if f.MayThrow() && !f.Complete { // no return probe where an exception may pass
			i.Misses(pid, 0, []event.Meter{event.Heap},
				"pid %d: %s: the ways out of %s are not known: what it makes is not in cpu.heap", pid,
				tracee.Clean(m.Path), f.Name)
			return true
		}
		return false
	})
	c, err := i.ProbeFile(i.Target, file, OfHeap(found, libc.IsLibc(m.Path)))
	if err != nil {
		return err
	}
	i.probes = append(i.probes, c)
	i.HeapCosts(i.CostOf(found))
	i.NoteUse(ledger.GroupHeap, fmt.Sprintf("%d functions of %s", len(found), path.Base(tracee.Clean(m.Path))))
	return nil
}

// CostOf estimates the cost of a malloc and its free, without lines, from the cost of a probe on this machine. Of a
// function's exits the dearest counts.
func (i *HeapInstrument) CostOf(found []libc.Function) (cost time.Duration) {
	hit := func(emulated bool) time.Duration { return i.Hit(emulated) + budget.Work[ledger.GroupHeap] }
	for _, f := range found {
		if f.Name != "malloc" && f.Name != "free" {
			continue
		}
		cost += hit(f.Entry.Emulated)
		leave := time.Duration(0)
		for _, r := range f.Leaves {
			leave = max(leave, hit(r.Emulated))
		}
		cost += leave
	}
	return cost
}

package tracer

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/cuda"
	"ipytracer/tracer/elffile"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/libc"
	"ipytracer/tracer/process"
)

// heapProbes are the probes on a target's allocator.
type heapProbes struct {
	files  []*process.MappedFile
	probes []io.Closer
	done   bool // found, or given up
	tries  int
}

func (h heapProbes) close() {
	for _, p := range h.probes {
		_ = p.Close()
	}
	for _, f := range h.files {
		f.File.Close()
	}
}

// heapPatience is how often the allocator of a program that is being started is looked for, 20 ms apart.
const heapPatience = 500

// adoptHeap puts probes on the functions that the target's calls of malloc and its relatives reach, once its dynamic linker has
// settled which.
func (s *Session) adoptHeap(t *target) {
	if !s.options.Heap || t.heap.done {
		return
	}
	t.heap.tries++
	err := s.placeHeap(t)
	if errors.Is(err, libc.ErrUnsettled) && t.heap.tries < heapPatience {
		return
	}
	t.heap.done = true
	if err != nil && !s.hasEnded(t) {
		s.misses(t.pid, 0, []event.Meter{event.Heap}, "pid %d: the allocator could not be probed: %v: nothing of cpu.heap is seen", t.pid, err)
	}
}

func (s *Session) placeHeap(t *target) error {
	objects, err := s.linked(t)
	if err != nil {
		return err
	}
	defines := make([][]string, len(objects))
	for i, m := range objects {
		file, err := s.fs.OpenMapping(t.pid, m)
		if err != nil {
			continue // not a file: the kernel's own, or gone
		}
		defines[i], _ = libc.Defines(file.File)
		file.File.Close()
	}
	owned := libc.Owned(defines)
	for i, m := range objects {
		if len(owned[i]) == 0 {
			continue
		}
		if err := s.placeAllocator(t, m, owned[i]); err != nil {
			return fmt.Errorf("%s: %w", clean(m.Path), err)
		}
	}
	if len(t.heap.probes) == 0 {
		return fmt.Errorf("%w: no library exports malloc", libc.ErrUnknown)
	}
	return s.budget.limitHeap()
}

// linked returns what the target has loaded, in the order in which symbols are looked up, up to the C library.
func (s *Session) linked(t *target) ([]process.Mapping, error) {
	var mappings []process.Mapping
	var loader *process.Mapping
	for m, err := range s.fs.Mappings(t.pid) {
		if err != nil {
			return nil, err
		}
		mappings = append(mappings, m)
		kind, known := cuda.KindOf(m.Path)
		if loader == nil && m.Perm&process.Exec != 0 && (known && kind == cuda.Loader || strings.HasPrefix(path.Base(m.Path), "ld-musl-")) {
			loader = &m
		}
	}
	if loader == nil {
		return nil, fmt.Errorf("%w: the program is linked statically", libc.ErrUnknown)
	}
	file, err := s.fs.OpenMapping(t.pid, *loader)
	if err != nil {
		return nil, err
	}
	defer file.File.Close()
	bias, err := loadBias(file.File, *loader)
	if err != nil {
		return nil, err
	}
	dynamic, err := libc.LinkOrder(t.python.memory, file.File, bias)
	if err != nil {
		return nil, err
	}
	var order []process.Mapping
	for _, at := range dynamic {
		i, ok := slices.BinarySearchFunc(mappings, at, func(m process.Mapping, at uint64) int {
			switch {
			case m.End <= at:
				return -1
			case m.Start > at:
				return 1
			}
			return 0
		})
		if !ok || mappings[i].File.Inode == 0 {
			continue
		}
		order = append(order, mappings[i])
		// What comes behind the C library is reached for nothing that it has. A few libraries may be in front of it.
		if libc.IsLibc(mappings[i].Path) || len(order) == maxInFront {
			break
		}
	}
	return order, nil
}

// maxInFront bounds how many libraries are looked at that come before the C library.
const maxInFront = 256

// loadBias is what to add to a file's addresses, by an executable mapping of it.
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
func (s *Session) placeAllocator(t *target, m process.Mapping, names []string) error {
	file, err := s.fs.OpenMapping(t.pid, m)
	if err != nil {
		return err
	}
	t.heap.files = append(t.heap.files, file)
	found, err := libc.FindFunctions(file.File, names)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(f libc.Function) bool {
		if f.MayThrow() && !f.Complete { // no return probe where an exception may pass
			s.misses(t.pid, 0, []event.Meter{event.Heap}, "pid %d: %s: the ways out of %s are not known: what it makes is not in cpu.heap", t.pid, clean(m.Path), f.Name)
			return true
		}
		return false
	})
	c, err := s.probeFile(t, file, heapPlacements(found, libc.IsLibc(m.Path)))
	if err != nil {
		return err
	}
	t.heap.probes = append(t.heap.probes, c)
	s.heapCost = max(s.heapCost, s.costOf(found))
	s.noteUse(ledger.GroupHeap, fmt.Sprintf("%d functions of %s", len(found), path.Base(clean(m.Path))))
	return nil
}

// heapPlacements places the ways out first: an entry without them is a call that never ends.
func heapPlacements(found []libc.Function, glibc bool) []ledger.Placement {
	enter, leave := ledger.Placement{Program: ledger.HeapEnter}, ledger.Placement{Program: ledger.HeapLeave}
	late := ledger.Placement{Program: ledger.HeapLeaveLate}
	type exit struct{ offset, cookie uint64 }
	seen := map[exit]bool{} // functions may share their ends
	for _, f := range found {
		enter.Offsets = append(enter.Offsets, f.Entry.FileOffset)
		enter.Cookies = append(enter.Cookies, ledger.HeapCall(uint8(f.Operation), f.Entry.Pushed, glibc))
		if !f.Complete {
			late.Offsets = append(late.Offsets, f.Start.FileOffset)
			continue
		}
		for _, r := range f.Leaves {
			one := exit{r.FileOffset, ledger.WayOut(r.Pushed, uint8(r.Result), r.Condition.Mask, r.Condition.Value)}
			if !seen[one] {
				seen[one] = true
				leave.Offsets, leave.Cookies = append(leave.Offsets, one.offset), append(leave.Cookies, one.cookie)
			}
		}
	}
	return slices.DeleteFunc([]ledger.Placement{late, leave, enter}, func(p ledger.Placement) bool { return len(p.Offsets) == 0 })
}

// costOf estimates what a malloc and its free cost, without lines, from what a probe costs here: the dearest way out counts.
func (s *Session) costOf(found []libc.Function) (cost time.Duration) {
	hit := func(emulated bool) time.Duration {
		if emulated {
			return s.budget.costs.Emulated + work[ledger.GroupHeap]
		}
		return s.budget.costs.Stepped + work[ledger.GroupHeap]
	}
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

// HeapCost is what each pair of malloc and free costs the targets, roughly, without lines; 0 with [Options.Heap] off. Until their
// allocators are known it is what glibc's would: three hits on instructions that are emulated.
func (s *Session) HeapCost() time.Duration {
	if s.options.Heap && s.heapCost == 0 {
		return 3 * (s.budget.costs.Emulated + work[ledger.GroupHeap])
	}
	return s.heapCost
}

package ledger

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// tracepoint is the place of a program.
type tracepoint struct {
	name    string
	program string
	copies  uint32 // copies of the program where tracepoints are preemptible, at most COPIES of bpf/state.h
	faults  bool   // for [sharedPages] only
}

// tracepoints are the programs at tracepoints. The kernel runs a program for one thread at a time on each CPU. Where
// tracepoints are preemptible, further copies of the program run after it and handle the events that the first copy
// missed (bpf/copies.h).
var tracepoints = []tracepoint{
	{"rss_stat", "resident", 2, false}, // mostly under the lock of a page table, where a thread is not preempted
	{"mmap_lock_released", "mapped", mostCopies, false},
	{"sched_process_fork", "process_fork", mostCopies, false},
	{"sched_process_exec", "process_exec", mostCopies, false},
	{"sched_process_exit", "process_exit", mostCopies, false},
	{"page_fault_user", "user_faults", mostCopies, true},
	{"page_fault_kernel", "kernel_faults", mostCopies, true},
}

const mostCopies = 3

// Tracepoints are the programs at tracepoints, in the wanted number of copies.
type Tracepoints struct {
	wanted   uint32 // the largest number of copies of each program
	alike    bool   // for tests: no copy knows of the others, and each does all the work
	detached uint32 // for tests: the number of first copies that are not attached; the last copy always is

	shared   sharedPages
	programs [][]*ebpf.Program // by tracepoint; the first copy of each is the object's
	links    []link.Link       // kept referenced, else the garbage collector closes them
	losses   missedEvents
	counts   [][]uint64 // the number of events that each copy missed, by the last answer of the kernel
}

// copiesOf returns the largest number of copies of each program at a tracepoint that are loaded.
func copiesOf(f Features, o Options) uint32 {
	switch {
	case o.copies > 0:
		return o.copies
	case f.Preemptible:
		return mostCopies
	}
	return 1
}

// load loads the object, with further copies of the programs at tracepoints over the same maps.
func (t *Tracepoints) load(spec *ebpf.CollectionSpec, objects *kernelObjects, o ebpf.CollectionOptions) error {
	collection, err := loadMaps(spec, o)
	if err != nil {
		return err
	}
	defer collection.Close()
	l := &loader{options: o}
	first, further := map[string]*loading{}, make([][]*loading, len(tracepoints))
	for name, p := range spec.Programs {
		first[name] = l.add(p, collection.Maps)
	}
	for number := uint32(1); number < t.wanted; number++ {
		objectMaps := maps.Clone(collection.Maps)
		if !t.alike {
			constants, err := loadConstants(spec, number, o)
			if err != nil {
				return err
			}
			defer constants.Close()
			maps.Copy(objectMaps, constants.Maps)
		}
		for i, at := range tracepoints {
			if number < at.copies {
				further[i] = append(further[i], l.add(spec.Programs[at.program], objectMaps))
			}
		}
	}
	if err := l.run(); err != nil {
		return err
	}
	for name, p := range first {
		collection.Programs[name] = p.loaded
	}
	for i, at := range tracepoints {
		t.programs = append(t.programs, []*ebpf.Program{collection.Programs[at.program]})
		for _, p := range further[i] {
			t.programs[i] = append(t.programs[i], p.loaded)
		}
	}
	return collection.Assign(objects)
}

// attach attaches the copies, one after another: a tracepoint runs programs in the order in which they were attached
// (func_add, kernel/tracepoint.c). Raw tracepoints need no tracefs.
func (t *Tracepoints) attach() error {
	for i, at := range tracepoints {
		if at.faults && !t.shared.known {
			continue
		}
		for number, p := range t.programs[i] {
			if uint32(number) < t.detached && number < len(t.programs[i])-1 {
				continue
			}
			tracing, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: at.name, Program: p})
			if err != nil {
				return classify("attach tracepoint "+at.name, err)
			}
			t.links = append(t.links, tracing)
		}
	}
	return nil
}

func (t *Tracepoints) detach() error {
	var errs []error
	for _, attached := range t.links {
		errs = append(errs, attached.Close())
	}
	t.links = nil
	return errors.Join(errs...)
}

// Beside calls a function while the kernel-wide probes are detached, for comparison with an untraced machine.
// Afterwards the figures of the ledger are useless.
func (t *Tracepoints) Beside(compared func() error) error {
	if err := t.detach(); err != nil {
		return err
	}
	return errors.Join(compared(), t.attach())
}

// close detaches all copies, and unloads the further copies. The first copies belong to the object.
func (t *Tracepoints) close() error {
	errs := []error{t.detach()}
	for _, copies := range t.programs {
		for _, p := range copies[1:] {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// missed returns the number of events that each copy missed, by tracepoint. For such an event the kernel did not run
// the copy, which was already running on that CPU for another thread (recursion_misses of struct bpf_prog_info, Linux
// 5.12). The counts are of the whole machine: the kernel does not show which thread's event was missed.
//
// On a kernel that does not count misses, each call adds one.
func (t *Tracepoints) missed() (counts [][]uint64) {
	for i, copies := range t.programs {
		if i == len(t.counts) {
			t.counts = append(t.counts, make([]uint64, len(copies)))
		}
		for number, p := range copies {
			if s, err := p.Stats(); err == nil {
				t.counts[i][number] = s.RecursionMisses
			} else {
				t.counts[i][number]++
			}
		}
		counts = append(counts, slices.Clone(t.counts[i]))
	}
	return counts
}

// countMissed counts, at most every lookApart, the events that were lost.
func (t *Tracepoints) countMissed(now time.Time) {
	if t.wanted > 1 {
		t.losses.count(now, t.missed)
	}
}

// missedByAll returns an upper bound of the number of events that no copy of a program saw.
func (t *Tracepoints) missedByAll() uint64 { return t.losses.bound(t.missed) }

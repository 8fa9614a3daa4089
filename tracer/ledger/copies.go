package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// tracepoint is where a program is.
type tracepoint struct {
	name    string
	program string
	copies  uint32 // of the program where tracepoints are preemptible, as many as COPIES of bpf/state.h at most
}

// tracepoints are the programs at tracepoints. The kernel runs a program for one thread at a time on each CPU. Where
// tracepoints are preemptible there are further copies of it behind it, which handle the events that the first has
// missed (bpf/copies.h).
var tracepoints = []tracepoint{
	{"rss_stat", "resident", 2}, // mostly under the lock of a page table, where no thread loses its CPU
	{"mmap_lock_released", "mapped", mostCopies},
	{"sched_process_fork", "process_fork", mostCopies},
	{"sched_process_exec", "process_exec", mostCopies},
	{"sched_process_exit", "process_exit", mostCopies},
}

const mostCopies = 3

// Tracepoints are the programs at tracepoints, in the wanted number of copies.
type Tracepoints struct {
	wanted   uint32 // of each, at most
	alike    bool   // for tests: none knows of the others, and each does all the work
	detached uint32 // for tests: so many of the first ones are not attached, but the last one is

	programs [][]*ebpf.Program // by tracepoint; the first of each is the object's
	links    []link.Link       // kept referenced, else the garbage collector closes them
	losses   missedEvents
	counts   [][]uint64 // the number that each has missed, by the kernel's last answer
}

// copiesOf returns how many copies of each program at a tracepoint are loaded, at most.
func copiesOf(f Features, o Options) uint32 {
	switch {
	case o.copies > 0:
		return o.copies
	case f.Preemptible:
		return mostCopies
	}
	return 1
}

// load loads the object: all of it once, and the programs at tracepoints in the wanted number of copies, over the same
// maps.
func (t *Tracepoints) load(spec *ebpf.CollectionSpec, objects *kernelObjects, o ebpf.CollectionOptions) error {
	all, err := loadMaps(spec, o)
	if err != nil {
		return err
	}
	defer all.Close()
	l := &loader{options: o}
	first, further := map[string]*loading{}, make([][]*loading, len(tracepoints))
	for name, p := range spec.Programs {
		first[name] = l.add(p, all.Maps)
	}
	for number := uint32(1); number < t.wanted; number++ {
		over := maps.Clone(all.Maps)
		if !t.alike {
			constants, err := loadConstants(spec, number, o)
			if err != nil {
				return err
			}
			defer constants.Close()
			maps.Copy(over, constants.Maps)
		}
		for i, at := range tracepoints {
			if number < at.copies {
				further[i] = append(further[i], l.add(spec.Programs[at.program], over))
			}
		}
	}
	if err := l.run(); err != nil {
		return err
	}
	for name, p := range first {
		all.Programs[name] = p.loaded
	}
	for i, at := range tracepoints {
		t.programs = append(t.programs, []*ebpf.Program{all.Programs[at.program]})
		for _, p := range further[i] {
			t.programs[i] = append(t.programs[i], p.loaded)
		}
	}
	return all.Assign(objects)
}

// attach attaches the copies, one behind the other: a tracepoint runs programs in the order in which they were attached
// (func_add, kernel/tracepoint.c). Raw tracepoints need no tracefs.
func (t *Tracepoints) attach() error {
	for i, at := range tracepoints {
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
	for _, one := range t.links {
		errs = append(errs, one.Close())
	}
	t.links = nil
	return errors.Join(errs...)
}

// Beside calls a function to compare with an untraced machine: with the kernel-wide probes out. The ledger's figures
// are of no use afterwards.
func (t *Tracepoints) Beside(compared func() error) error {
	if err := t.detach(); err != nil {
		return err
	}
	return errors.Join(compared(), t.attach())
}

// close detaches all, and unloads the further copies. The first ones are the object's.
func (t *Tracepoints) close() error {
	errs := []error{t.detach()}
	for _, of := range t.programs {
		for _, p := range of[1:] {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// missed returns how many events each copy has missed, by tracepoint: events for which the kernel did not run it, as
// the CPU was within it for another thread (recursion_misses of struct bpf_prog_info, Linux 5.12). They are those of
// the whole machine, since the kernel does not show the thread of an event that it did not run a program for.
//
// Where the kernel does not count them, the program has missed one more.
func (t *Tracepoints) missed() (all [][]uint64) {
	for i, of := range t.programs {
		if i == len(t.counts) {
			t.counts = append(t.counts, make([]uint64, len(of)))
		}
		for number, p := range of {
			if s, err := p.Stats(); err == nil {
				t.counts[i][number] = s.RecursionMisses
			} else {
				t.counts[i][number]++
			}
		}
		all = append(all, slices.Clone(t.counts[i]))
	}
	return all
}

// look counts the lost events since the last look but one, now and then.
func (t *Tracepoints) look(now time.Time) {
	if t.wanted > 1 {
		t.losses.look(now, t.missed)
	}
}

// passedBy returns how many events no copy of a program has seen, at most.
func (t *Tracepoints) passedBy() uint64 { return t.losses.upTo(t.missed) }

// work returns the work of all copies of a program. A run is one of the first copy.
func (t *Tracepoints) work(program string) (w Work, err error) {
	i := slices.IndexFunc(tracepoints, func(at tracepoint) bool { return at.program == program })
	for number, p := range t.programs[i] {
		s, err := p.Stats()
		if err != nil {
			return Work{}, fmt.Errorf("ask for what a program did: %w", err)
		}
		if number == 0 {
			w.Runs = s.RunCount
		}
		w.Spent += s.Runtime
	}
	return w, nil
}

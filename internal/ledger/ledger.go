// Package ledger loads the BPF object (bpf/) and communicates with it. It attaches the kernel-wide probes, seeds
// processes, places uprobes, and turns the records of the rings into events. Package tracer decides which places are
// probed.
//
// The kernel half computes the figures (see bpf/ledger.h); this package passes them on and never computes one. All
// functions here need CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE, in practice root.
package ledger

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// Capabilities are what the loaded object can do on this kernel.
type Capabilities struct {
	CPUs          int
	ExactResident bool // RSS counters are per CPU and are summed (kernel 6.2)
	// ResidentBound is the largest error of resident memory where it is not exact, in bytes for each thread.
	ResidentBound int64
	// Copies: what processes copy of the pages that they share since a fork is counted.
	Copies      bool
	MultiUprobe bool // one link for many sites, without perf events; a trial confirmed it
	// NoClock is the reason why CPU times at a boundary are those of each thread's last tick or switch; nil if they are
	// exact.
	NoClock error
}

// Ledger is the loaded BPF object, and owns its parts. It is not safe for concurrent use, except that [Ledger.Losses]
// and [Accounts.Hits] may be called at any time before [Ledger.Close].
type Ledger struct {
	Stream    Stream
	Processes Processes
	Cells     Cells
	Probes    Probes
	Accounts  Accounts
	Blocks    Blocks
	Rules     Rules
	loaded
}

// loaded is the loaded object, with the parts that exist only once it is loaded.
type loaded struct {
	Tracepoints Tracepoints
	Births      Births
	objects     kernelObjects
	cap         Capabilities
	operations  operations
	clocks      cpuClocks
	resets      resetPrograms

	fixedMemory int64 // of the maps that do not grow, in bytes; 0 until it was read
}

// Load loads the object and attaches the kernel-wide probes. They observe the address spaces that the ledger knows, at
// first none. The error matches ErrNotPermitted or ErrNotSupported if that is the reason.
func Load(o Options) (*Ledger, error) {
	if err := CheckFiles(); err != nil {
		return nil, err
	}
	from, err := readSources()
	if err != nil {
		return nil, err
	}
	l, err := loadFrom(from, o)
	if err != nil {
		return nil, err
	}
	from.keep()
	return l, nil
}

// newLedger returns a ledger with its parts, but without an object.
func newLedger() *Ledger {
	l := &Ledger{}
	l.operations.objects, l.clocks.objects = &l.objects, &l.objects
	l.Stream.objects, l.Stream.tracepoints, l.Stream.copied = &l.objects, &l.Tracepoints, l.Stream.copyRead
	l.Processes = Processes{&l.objects, &l.operations, &l.Stream}
	l.Cells.objects, l.Cells.operations = &l.objects, &l.operations
	l.Probes.objects = &l.objects
	l.Accounts.objects, l.Accounts.operations, l.Accounts.probes = &l.objects, &l.operations, &l.Probes
	l.Blocks = Blocks{Pages{objects: &l.objects, operations: &l.operations}, &l.objects, &l.operations}
	l.Rules.objects, l.Births.objects = &l.objects, &l.objects
	return l
}

// loadFrom loads from sources that have been read.
func loadFrom(from *sources, o Options) (_ *Ledger, err error) {
	l := newLedger()
	l.Stream.readingWait = cmp.Or(o.readingWait, usualReadingWait)
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	spec := from.toConfigure()
	if err := l.configure(spec, from, o); err != nil {
		return nil, err
	}
	if err := l.Tracepoints.load(spec, &l.objects, ebpf.CollectionOptions{Cache: from.kernel}); err != nil {
		return nil, classify("load the BPF object", err)
	}
	if err := l.prepare(spec, o); err != nil {
		return nil, err
	}
	if err := l.Tracepoints.shared.learn(&l.objects); err != nil {
		return nil, err
	}
	l.cap.Copies = l.Tracepoints.shared.known
	if err := l.Tracepoints.attach(); err != nil {
		return nil, err
	}
	return l, l.resets.attach(&l.objects)
}

// configure sets the constants and sizes that depend on the kernel, before loading.
func (l *Ledger) configure(spec *ebpf.CollectionSpec, from *sources, o Options) error {
	kernel, err := from.kernel.Kernel()
	if err != nil {
		return noBTF(err)
	}
	f, err := inspect(kernel, spec)
	if err = cmp.Or(err, f.err()); err != nil {
		return err
	}
	o.sizes(spec, f.Growing && !o.OldKernel)
	spec.Maps["changes"].MaxEntries, spec.Maps["boundaries"].MaxEntries = uint32(o.ChangeRing), uint32(o.BoundaryRing)
	if !o.Heap {
		omitHeap(spec)
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("count the CPUs: %w", err)
	}
	if cpus > maxCPUs {
		return fmt.Errorf("%w: %d CPUs, this build sums the counters of at most %d", ErrNotSupported, cpus, maxCPUs)
	}
	spec.Maps["shares"].MaxEntries *= uint32(cpus)
	spec.Maps["clocks"].MaxEntries = uint32(cpus)
	l.cap = Capabilities{CPUs: cpus, MultiUprobe: from.multiUprobe, ExactResident: f.ExactResident}
	if !f.ExactResident {
		const heldPages = 66 // a thread adds its pages to the process's at its 66th fault (check_sync_rss_stat)
		l.cap.ResidentBound = heldPages * int64(o.page())
	}
	l.Tracepoints.wanted, l.Tracepoints.alike, l.Tracepoints.detached = copiesOf(f, o), o.alike, o.detached
	f.shared.known = f.shared.known && o.SharedPages
	l.clocks.cpus, l.Probes.multi, l.Tracepoints.shared = cpus, from.multiUprobe, f.shared
	f.shared.configure(spec)
	l.resets.configure(spec, f.container, from.kernel)
	loop := f.Loop && !o.OldKernel
	if loop {
		spec.Maps["ticks"].MaxEntries = 1
	}
	for name, value := range map[string]any{
		"cpus": uint32(cpus), "page_size": o.page(), "change_ring_size": uint32(o.ChangeRing),
		"boundary_ring_size": uint32(o.BoundaryRing), "small_arrays": flag(o.SmallArrays), "have_loop": flag(loop),
		"have_cast": flag(f.Cast), "percpu_rss": flag(f.ExactResident), "rss_offset": f.rssOffset,
		"held_offset": f.heldOffset, "tree_offset": f.treeOffset, "node_offset": f.nodeOffset,
		"lingering": o.lingering, "counting": flag(o.Counters),
		"program_copies": l.Tracepoints.wanted, "watch_births": flag(o.Births),
		"boot_offset": bootOffset(), "container_at": f.container,
		"entire_offset": f.shared.entireOffset, "large_flag": f.shared.largeFlag,
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	if l.cap.MultiUprobe {
		for _, p := range spec.Programs {
			if p.SectionName == "uprobe" || p.SectionName == "uretprobe" {
				p.AttachType = ebpf.AttachTraceUprobeMulti
			}
		}
	}
	return nil
}

// omitHeap removes what serves only [Options.Heap]: room for malloc's blocks, and programs that are never hit. Empty
// programs take no time to verify.
func omitHeap(spec *ebpf.CollectionSpec) {
	spec.Maps["heap_blocks"].MaxEntries = 1
	for _, name := range []string{"heap_enter", "heap_leave", "heap_leave_late"} {
		spec.Programs[name].Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol(name), asm.Return()}
	}
}

// prepare does what must be done before the first event: CPU offsets, free slots, the readers of the rings.
func (l *Ledger) prepare(spec *ebpf.CollectionSpec, o Options) error {
	code, err := l.objects.DiscoverCpus.Run(&ebpf.RunOptions{})
	if err != nil || code != 0 {
		return classify("find the per-CPU counters", errors.Join(err, codeError(code)))
	}
	for slot := range uint32(MaxProcesses) { // the slot that was added last is used first
		if err := l.objects.FreeSlots.Put(nil, MaxProcesses-1-slot); err != nil {
			return fmt.Errorf("fill the free slots: %w", err)
		}
	}
	if err := l.Blocks.Pages.prepare(spec.Maps["count_pages"], o.HeapPage); err != nil {
		return err
	}
	if err := l.Stream.openRings(); err != nil {
		return err
	}
	l.Stream.expected = 1
	if err := l.objects.Callees.Put(uint32(kernelCalleeSETTLE_ACCOUNT), l.objects.SettleAccount); err != nil {
		return fmt.Errorf("register the programs that other programs call: %w", err)
	}
	l.cap.NoClock = l.clocks.learn()
	if l.operations.iterator, err = link.AttachIter(link.IterOptions{Program: l.objects.ControlTask}); err != nil {
		return classify("attach the task iterator", err)
	}
	return nil
}

func codeError(code uint32) error {
	if code == 0 {
		return nil
	}
	return fmt.Errorf("discover_cpus returned %d", code)
}

// Capabilities returns the capabilities of the object on this kernel.
func (l *Ledger) Capabilities() Capabilities { return l.cap }

// Close detaches everything and frees the object. Traced processes go on undisturbed.
func (l *Ledger) Close() error {
	l.Births.close()
	errs := []error{l.Tracepoints.close(), l.resets.close(), l.Blocks.Pages.close()}
	if l.operations.iterator != nil {
		errs = append(errs, l.operations.iterator.Close())
	}
	errs = append(errs, l.clocks.close())
	errs = append(errs, l.Stream.closeRings(), l.objects.Close())
	return errors.Join(errs...)
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"

	"ipytracer/tracer"
	"ipytracer/tracer/ledger"
)

// tryKernel loads the very programs that trace, and asks the kernel for what they need one by one.
func (d *diagnosis) tryKernel(ctx context.Context, measure bool) {
	d.features()
	l, err := ledger.Load(ledger.Options{})
	if err != nil {
		d.add("probes", "the probes", stateMissing, "%v", err)
		d.adviseLoad(err)
		return
	}
	c := l.Capabilities()
	d.add("probes", "the probes", stateOK, "loaded and attached, raw tracepoints on rss_stat, mmap_lock_released, fork, exec, exit")
	kind := "one perf event for each site"
	if c.MultiUprobe {
		kind = "multi-uprobe links"
	}
	d.add("uprobes", "uprobes", stateOK, "%s", kind)
	if c.ExactResident {
		d.add("rss_counters", "RSS counters", stateOK, "per CPU, summed over %d at each change", c.CPUs)
	} else {
		d.add("rss_counters", "RSS counters", stateReduced, "one for all CPUs; what each thread holds back of it, up to %d bytes, is read from the threads", c.ResidentBound)
	}
	heap := tracer.HeapSource
	heap.Source += "; only with --heap"
	d.cLibrary()
	for _, m := range append(tracer.MeterSources(c, 1), heap) {
		id := m.Meter.String()
		if _, kind, ok := m.Meter.Device(); ok { // told of GPU 0 for all of them
			id = fmt.Sprintf("gpu.N.%v", kind)
		}
		d.Meters = append(d.Meters, meterRung{ID: id, Source: m.Source, Exact: m.Exact && !m.Absent, Bound: int64(m.Bound)})
	}
	if measure {
		d.measureUprobes(l)
	}
	if err := l.Close(); err != nil {
		d.Unseen = append(d.Unseen, fmt.Sprintf("what happened when the probes were removed: %v", err))
	}
	if measure {
		d.measureHandlers(ctx)
	} else {
		d.Unseen = append(d.Unseen, "what the probes cost (--quick)")
	}
}

func (d *diagnosis) adviseLoad(err error) {
	switch {
	case errors.Is(err, ledger.ErrNotPermitted):
		d.advise("", "the kernel refuses the programs (%v): a security module, seccomp or a container forbids bpf(2)", err)
	case errors.Is(err, ledger.ErrNotSupported):
		d.advise("", "this kernel cannot do what is needed (%v): install 6.2 or newer", err)
	default:
		d.advise("", "the probes could not be loaded: %v", err)
	}
}

// features asks for each of what the programs use.
func (d *diagnosis) features() {
	probe := func(id, name, since string, needed bool, err error) {
		switch {
		case err == nil:
			d.add(id, name, stateOK, "there (since %s)", since)
		case !errors.Is(err, ebpf.ErrNotSupported):
			d.add(id, name, stateUnknown, "%v", err)
		case needed:
			d.add(id, name, stateMissing, "not there (since %s)", since)
		default:
			d.add(id, name, stateReduced, "not there (since %s)", since)
		}
	}
	probe("ringbuf", "BPF ring buffer", "5.8", true, features.HaveMapType(ebpf.RingBuf))
	probe("raw_tracepoint", "raw tracepoints", "4.17", true, features.HaveProgramType(ebpf.RawTracepoint))
	probe("bpf_loop", "bpf_loop", "5.17", true, features.HaveProgramHelper(ebpf.Kprobe, asm.FnLoop))
	probe("map_lookup_percpu_elem", "bpf_map_lookup_percpu_elem", "5.19", true, features.HaveProgramHelper(ebpf.Kprobe, asm.FnMapLookupPercpuElem))
	probe("rdonly_cast", "bpf_rdonly_cast", "6.2", false, haveKernelFunction("bpf_rdonly_cast"))
}

// haveKernelFunction looks a function up in the kernel's types.
func haveKernelFunction(name string) error {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return err
	}
	var fn *btf.Func
	if err := kernel.TypeByName(name, &fn); err != nil {
		return fmt.Errorf("%w: %v", ebpf.ErrNotSupported, err)
	}
	return nil
}

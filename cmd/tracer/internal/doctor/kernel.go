package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ipytracer/internal/ledger"
	"ipytracer/tracer"
)

// tryKernel loads the programs that a session loads.
func (d *Diagnosis) tryKernel(ctx context.Context, measure bool) {
	l, err := ledger.Load(ledger.Options{})
	if err != nil {
		d.add("probes", "the probes", Missing, "%v", err)
		d.adviseLoad(err)
		return
	}
	c := l.Capabilities()
	d.add("probes", "the probes", OK,
		"loaded and attached, raw tracepoints on rss_stat, mmap_lock_released, fork, exec, exit")
	kind := "one perf event for each site"
	if c.MultiUprobe {
		kind = "multi-uprobe links"
	}
	if err := l.Probes.TryProbe(); errors.Is(err, ledger.ErrNotPermitted) {
		d.add("uprobes", "uprobes", Missing, "%s, which takes CAP_SYS_ADMIN as well: not held", kind)
		d.advise("docker run --pid host --cap-add SYS_ADMIN …",
			"this kernel asks for CAP_SYS_ADMIN to place a probe (docs/confined.md)")
	} else {
		d.add("uprobes", "uprobes", OK, "%s", kind)
	}
	sources := tracer.MeterSources(c, 1)
	for _, m := range tracer.RequestedSources() {
		m.Source += "; only with " + m.Meter.Facts().OnRequest
		sources = append(sources, m)
	}
	for _, m := range sources {
		d.Meters = append(d.Meters, MeterRung{
			ID: m.Meter.Facts().String(), Source: m.Source, Exact: m.Exact && !m.Absent, Bound: int64(m.Bound),
		})
	}
	if measure {
		d.measureUprobes(l)
		d.measureHandlers(ctx, l)
	} else {
		d.Unseen = append(d.Unseen, "what the probes cost (--quick)")
	}
	if err := l.Close(); err != nil {
		d.Unseen = append(d.Unseen, fmt.Sprintf("whether the probes were removed cleanly: %v", err))
	}
}

func (d *Diagnosis) adviseLoad(err error) {
	switch {
	case errors.Is(err, ledger.ErrNotPermitted):
		d.advise("", "the kernel refuses the programs (%v): a security module, seccomp or a container forbids bpf(2)",
			err)
	case errors.Is(err, ledger.ErrNotSupported):
		d.advise("", "this kernel cannot do what is needed (%v): install 6.2 or newer", err)
	default:
		d.advise("", "the probes could not be loaded: %v", err)
	}
}

// addOptional adds a finding about a feature that the probes can do without.
func (d *Diagnosis) addOptional(has bool, id, name, with, without string) {
	if has {
		d.add(id, name, OK, "%s", with)
	} else {
		d.add(id, name, Reduced, "%s", without)
	}
}

// features judges which functions of the kernel the programs can use, by the kernel's type information.
func (d *Diagnosis) features(f ledger.Features, err error) {
	if err != nil {
		d.add("kernel_types", "types of the kernel", Missing, "%v", err)
		d.adviseLoad(err)
		return
	}
	if len(f.Missing) == 0 {
		d.add("helpers", "BPF helpers", OK, "all that the probes call")
	} else {
		names := strings.Join(f.Missing, ", ")
		d.add("helpers", "BPF helpers", Missing, "no %s", names)
		d.advise("", "this kernel has no %s: install one that has, such as 6.2 or newer", names)
	}
	d.addOptional(f.Loop, "bpf_loop", "bpf_loop", "there", "not there: bpf_for_each_map_elem stands in")
	d.addOptional(f.Growing, "tables", "BPF hash tables", "can grow",
		"cannot grow: they are smaller, and take all their memory at the attach")
	d.addOptional(f.Cast, "rdonly_cast", "bpf_rdonly_cast", "there",
		"not there: each allocated or freed page costs more")
	d.addOptional(f.ExactResident, "rss_counters", "RSS counters", "per CPU",
		"one for all CPUs; what each thread holds back of it is read from the threads")
	if !f.ExactResident {
		d.advise("", "cpu.resident is a bound: this kernel has one RSS counter for all CPUs; "+
			"upstream kernels have one for each from 6.2 on")
	}
}

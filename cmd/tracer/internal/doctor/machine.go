package doctor

import (
	"os"
	"runtime"
	"strings"

	"ipytracer/internal/host/process"
)

// diagnose judges what can be found out without loading or executing anything.
func diagnose(f process.Facts) Diagnosis {
	d := Diagnosis{
		Schema: Schema, Kernel: f.Kernel, CPUs: runtime.NumCPU(), Root: f.EUID == 0, Possible: true,
		Checks: []Finding{}, Meters: []MeterRung{}, Costs: []Cost{}, Running: []RunningPython{},
		Pythons: []InstalledPython{}, Unseen: []string{}, Actions: []Action{},
	}
	d.kernel(f)
	d.checkTranslation(readCPUs())
	at := platformOf(f.Kernel, exists)
	d.platform(at)
	d.btf(f, at)
	d.privileges(f)
	d.lockdown(f)
	d.namespaces(f)
	d.settings(f)
	d.tracefs()
	if !d.Possible {
		d.advise("", "where tracing cannot be had: in a notebook, %%load_ext ipytracer reads figures inside the "+
			"kernel, with their bounds, and '%%tracer counts on' counts NumPy's arrays to the byte (docs/alone.md)")
	}
	return d
}

// kernel shows the kernel's release. It does not judge it, because vendors backport features.
func (d *Diagnosis) kernel(f process.Facts) {
	if f.Kernel == "" {
		d.add("kernel", "kernel", Unknown, "its release cannot be read")
	} else {
		d.add("kernel", "kernel", OK, "%s", f.Kernel)
	}
}

func (d *Diagnosis) btf(f process.Facts, at *platform) {
	if f.BTF {
		d.add("btf", "BTF type information", OK, "/sys/kernel/btf/vmlinux")
		return
	}
	d.add("btf", "BTF type information", Missing, "no /sys/kernel/btf/vmlinux")
	if at != nil {
		d.advise(at.update, "this kernel of %s has no BTF, which is in %s", at.name, at.since)
		return
	}
	d.advise("", "the kernel has no BTF; use one built with CONFIG_DEBUG_INFO_BTF=y, or mount /sys in the container")
}

// privileges judges the capabilities that tracing takes: CAP_BPF and CAP_PERFMON to load and attach, CAP_SYS_PTRACE to
// look into other users' processes, CAP_DAC_READ_SEARCH to open their /proc/PID/mem and their libraries.
func (d *Diagnosis) privileges(f process.Facts) {
	var missing []string
	for _, c := range process.Tracing {
		state, detail := OK, "held"
		if !f.Capabilities.Allows(c) {
			state, detail = Missing, "not held"
			missing = append(missing, c.String())
		} else if wider, _ := c.Within(); !f.Capabilities.Has(c) {
			detail = "by way of " + wider.String()
		}
		d.add(strings.ToLower(c.String()), c.String(), state, "%s", detail)
	}
	switch {
	case len(missing) == 0:
	case f.EUID != 0:
		d.advise("sudo tracer doctor", "this user may not trace (%s not held)", strings.Join(missing, ", "))
	default:
		caps := ""
		for _, m := range missing {
			caps += " --cap-add " + strings.TrimPrefix(m, "CAP_")
		}
		d.advise("docker run --pid host"+caps+" …",
			"root, but without %s: a container with too few capabilities (docs/confined.md)",
			strings.Join(missing, ", "))
	}
}

func (d *Diagnosis) lockdown(f process.Facts) {
	if f.Lockdown == "confidentiality" {
		d.add("lockdown", "kernel lockdown", Missing, "confidentiality: BPF may not read memory")
		d.advise("", "the kernel is locked down; boot with lockdown=integrity, or without it")
		return
	}
	d.add("lockdown", "kernel lockdown", OK, "%s", f.Lockdown)
}

func (d *Diagnosis) namespaces(f process.Facts) {
	if !f.InitialUserNamespace && f.Capabilities.MayLoadBPF() {
		d.add("user_namespace", "user namespace", Missing, "not the machine's: capabilities count for nothing here")
		d.advise("", "this is a user namespace (a rootless container); run the tracer outside of it, on the host")
	}
	if f.InitialPIDNamespace {
		d.add("pid_namespace", "process ids", OK, "the machine's")
	} else {
		d.add("pid_namespace", "process ids", OK, "a container's: only its own processes can be seen")
	}
	if !f.OwnProc {
		d.add("proc", "/proc", Reduced, "of another pid namespace")
		d.advise("mount -t proc proc /proc", "/proc shows the processes of another pid namespace")
	}
}

// settings shows the settings that people suspect when tracing fails. Few of them bind root.
func (d *Diagnosis) settings(f process.Facts) {
	for _, s := range []struct {
		id, name, about string
		value           process.Setting
	}{
		{"perf_event_paranoid", "kernel.perf_event_paranoid", "does not bind CAP_PERFMON", f.PerfEventParanoid},
		{
			"unprivileged_bpf_disabled", "kernel.unprivileged_bpf_disabled", "does not bind CAP_BPF",
			f.UnprivilegedBPFDisabled,
		},
		{"kptr_restrict", "kernel.kptr_restrict", "not used", f.KptrRestrict},
		{"ptrace_scope", "kernel.yama.ptrace_scope", "does not bind CAP_SYS_PTRACE below 3", f.PtraceScope},
	} {
		if !s.value.Known {
			d.add(s.id, s.name, OK, "not there")
			continue
		}
		d.add(s.id, s.name, OK, "%s (%s)", s.value, s.about)
	}
	if f.PtraceScope.Known && f.PtraceScope.Value >= 3 {
		d.Checks[len(d.Checks)-1].State = Reduced
		d.advise("", "kernel.yama.ptrace_scope is 3: 'tracer run' cannot start a command; attach works; "+
			"it takes a reboot to lower it")
	}
	if f.BPFJIT.Known && f.BPFJIT.Value == 0 {
		d.add("bpf_jit", "net.core.bpf_jit_enable", Reduced, "0: programs are interpreted, so every probe costs more")
		d.advise("sudo sysctl net.core.bpf_jit_enable=1", "BPF programs are interpreted")
	} else {
		d.add("bpf_jit", "net.core.bpf_jit_enable", OK, "%s", f.BPFJIT)
	}
}

func (d *Diagnosis) tracefs() {
	detail := "not mounted; not needed"
	for _, dir := range []string{"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"} {
		if _, err := os.Stat(dir); err == nil {
			detail = "mounted; not needed"
		} else if os.IsPermission(err) {
			detail = "cannot be seen by this user; not needed"
		}
	}
	d.add("tracefs", "tracefs", OK, "%s", detail)
}

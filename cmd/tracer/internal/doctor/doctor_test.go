package doctor

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

func capabilities(all ...process.Capability) (set process.CapabilitySet) {
	for _, c := range all {
		set |= 1 << c
	}
	return set
}

// able returns a machine that lacks nothing.
func able() process.Facts {
	return process.Facts{
		Kernel: "6.18.0", BTF: true, OwnProc: true, InitialPIDNamespace: true,
		InitialUserNamespace: true, Lockdown: "none", BPFJIT: process.Setting{Value: 1, Known: true},
		Capabilities: capabilities(process.CapBPF, process.CapPerfmon, process.CapSysPtrace, process.CapDACReadSearch),
	}
}

// diagnoses are facts of a machine that can trace, each with a change.
var diagnoses = []struct {
	name     string
	change   func(*process.Facts)
	possible bool
	id       string // of the finding that changes
	state    string
	advice   string // part of an action
}{
	{"able", func(*process.Facts) {}, true, "kernel", OK, ""},
	{"number", func(f *process.Facts) { f.Kernel = "5.14.0-503.el9.x86_64" }, true, "kernel", OK, ""},
	{"no BTF", func(f *process.Facts) { f.BTF = false }, false, "btf", Missing, "CONFIG_DEBUG_INFO_BTF"},
	{
		"user", func(f *process.Facts) { f.Capabilities, f.EUID = 0, 1000 }, false, "cap_bpf", Missing,
		"sudo tracer doctor",
	},
	{"container", func(f *process.Facts) {
		f.Capabilities = capabilities(process.CapBPF, process.CapPerfmon, process.CapDACReadSearch)
	}, false, "cap_sys_ptrace", Missing, "--cap-add SYS_PTRACE"},
	{
		"strangers", func(f *process.Facts) { f.Capabilities &^= capabilities(process.CapDACReadSearch) }, false,
		"cap_dac_read_search", Missing, "--cap-add DAC_READ_SEARCH",
	},
	{"override", func(f *process.Facts) {
		f.Capabilities ^= capabilities(process.CapDACReadSearch, process.CapDACOverride)
	}, true, "cap_dac_read_search", OK, ""},
	{"admin", func(f *process.Facts) {
		f.Capabilities = capabilities(process.CapSysAdmin, process.CapSysPtrace, process.CapDACReadSearch)
	}, true, "cap_bpf", OK, ""},
	{
		"lockdown", func(f *process.Facts) { f.Lockdown = "confidentiality" }, false, "lockdown", Missing,
		"lockdown=integrity",
	},
	{"integrity", func(f *process.Facts) { f.Lockdown = "integrity" }, true, "lockdown", OK, ""},
	{
		"rootless", func(f *process.Facts) { f.InitialUserNamespace = false }, false, "user_namespace", Missing,
		"on the host",
	},
	{"strange proc", func(f *process.Facts) { f.OwnProc = false }, true, "proc", Reduced, "mount -t proc"},
	{"interpreted", func(f *process.Facts) { f.BPFJIT.Value = 0 }, true, "bpf_jit", Reduced, "sysctl"},
	{
		"no ptrace", func(f *process.Facts) { f.PtraceScope = process.Setting{Value: 3, Known: true} }, true,
		"ptrace_scope", Reduced, "tracer run",
	},
}

func TestDiagnose(t *testing.T) {
	for _, c := range diagnoses {
		t.Run(c.name, func(t *testing.T) {
			facts := able()
			c.change(&facts)
			d := diagnose(facts)
			at := slices.IndexFunc(d.Checks, func(f Finding) bool { return f.ID == c.id })
			if d.Possible != c.possible || at < 0 || d.Checks[at].State != c.state {
				t.Errorf("possible %v, checks %+v", d.Possible, d.Checks)
			}
			var out bytes.Buffer
			if err := Print(&out, d, false); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.advice == "" && (len(d.Actions) > 0 || !strings.Contains(out.String(), "nothing to do")):
				t.Errorf("there is nothing to do, but: %+v", d.Actions)
			case !strings.Contains(out.String(), c.advice):
				t.Errorf("no advice with %q in\n%s", c.advice, out.String())
			case strings.Contains(out.String(), "%load_ext ipytracer reads figures inside the kernel") == c.possible:
				t.Errorf("possible %v, and what there is without a tracer:\n%s", c.possible, out.String())
			}
		})
	}
}

// TestFeatures: a kernel's features decide, not its name.
func TestFeatures(t *testing.T) {
	all := ledger.Features{Loop: true, Growing: true, Cast: true, ExactResident: true}
	for _, c := range []struct {
		name      string
		change    func(*ledger.Features)
		possible  bool
		id, state string
		advice    string
	}{
		{"all", func(*ledger.Features) {}, true, "helpers", OK, ""},
		{
			"helper", func(f *ledger.Features) { f.Missing = []string{"bpf_get_attach_cookie"} }, false, "helpers",
			Missing, "bpf_get_attach_cookie",
		},
		{"loop", func(f *ledger.Features) { f.Loop = false }, true, "bpf_loop", Reduced, ""},
		{"tables", func(f *ledger.Features) { f.Growing = false }, true, "tables", Reduced, ""},
		{"cast", func(f *ledger.Features) { f.Cast = false }, true, "rdonly_cast", Reduced, ""},
		{"counters", func(f *ledger.Features) { f.ExactResident = false }, true, "rss_counters", Reduced, "bound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := all
			c.change(&f)
			d := Diagnosis{Possible: true}
			d.features(f, nil)
			at := slices.IndexFunc(d.Checks, func(f Finding) bool { return f.ID == c.id })
			if d.Possible != c.possible || at < 0 || d.Checks[at].State != c.state {
				t.Errorf("possible %v, checks %+v", d.Possible, d.Checks)
			}
			if (c.advice == "") != (len(d.Actions) == 0) ||
				len(d.Actions) > 0 && !strings.Contains(d.Actions[0].Problem, c.advice) {
				t.Errorf("actions %+v", d.Actions)
			}
		})
	}
}

// TestDearHits: what a hit costs is shown as it was measured, and it is said where that is dear or not certain.
func TestDearHits(t *testing.T) {
	for _, c := range []struct {
		costs       ledger.Costs
		state, text string
	}{
		{ledger.Costs{Emulated: 520, Stepped: 11_000}, "", "+520 ns"},
		{ledger.Costs{Emulated: 5200, Stepped: 12_400}, Reduced, "a hit of a probe is dear on this machine, 5.20 µs"},
		{ledger.Costs{Emulated: 12_000, Stepped: 40_000, Noisy: true}, Reduced, "that do not agree"},
		{ledger.Costs{Emulated: 900, Stepped: 11_000, Noisy: true}, Unknown, "did not agree"},
	} {
		d := Diagnosis{Possible: true}
		d.addHitCosts(c.costs)
		at := slices.IndexFunc(d.Checks, func(f Finding) bool { return f.ID == "traps" })
		if (at < 0) != (c.state == "") || at >= 0 && d.Checks[at].State != c.state {
			t.Errorf("%+v: %+v", c.costs, d.Checks)
		}
		if len(d.Costs) != 2 || d.Costs[0].Added != float64(c.costs.Emulated) ||
			d.Costs[1].Added != float64(c.costs.Stepped) {
			t.Errorf("%+v: %+v", c.costs, d.Costs)
		}
		var out bytes.Buffer
		if err := Print(&out, d, false); err != nil || !strings.Contains(out.String(), c.text) {
			t.Errorf("%+v, %v:\n%s", c.costs, err, out.String())
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

func capabilities(all ...process.Capability) (set process.CapabilitySet) {
	for _, c := range all {
		set |= 1 << c
	}
	return set
}

// able is a machine that lacks nothing.
func able() process.Facts {
	return process.Facts{
		Kernel: "6.18.0", BTF: true, OwnProc: true, InitialPIDNamespace: true,
		InitialUserNamespace: true, Lockdown: "none", BPFJIT: process.Setting{Value: 1, Known: true},
		Capabilities: capabilities(process.CapBPF, process.CapPerfmon, process.CapSysPtrace, process.CapDACReadSearch),
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*process.Facts)
		possible bool
		id       string // of the finding that changes
		state    string
		advice   string // part of an action
	}{
		{"able", func(*process.Facts) {}, true, "kernel", stateOK, ""},
		{"number", func(f *process.Facts) { f.Kernel = "5.14.0-503.el9.x86_64" }, true, "kernel", stateOK, ""},
		{"no BTF", func(f *process.Facts) { f.BTF = false }, false, "btf", stateMissing, "CONFIG_DEBUG_INFO_BTF"},
		{"user", func(f *process.Facts) { f.Capabilities, f.EUID = 0, 1000 }, false, "cap_bpf", stateMissing, "sudo tracer doctor"},
		{"container", func(f *process.Facts) {
			f.Capabilities = capabilities(process.CapBPF, process.CapPerfmon, process.CapDACReadSearch)
		}, false, "cap_sys_ptrace", stateMissing, "--cap-add SYS_PTRACE"},
		{"strangers", func(f *process.Facts) { f.Capabilities &^= capabilities(process.CapDACReadSearch) }, false, "cap_dac_read_search", stateMissing, "--cap-add DAC_READ_SEARCH"},
		{"override", func(f *process.Facts) {
			f.Capabilities ^= capabilities(process.CapDACReadSearch, process.CapDACOverride)
		}, true, "cap_dac_read_search", stateOK, ""},
		{"admin", func(f *process.Facts) {
			f.Capabilities = capabilities(process.CapSysAdmin, process.CapSysPtrace, process.CapDACReadSearch)
		}, true, "cap_bpf", stateOK, ""},
		{"lockdown", func(f *process.Facts) { f.Lockdown = "confidentiality" }, false, "lockdown", stateMissing, "lockdown=integrity"},
		{"integrity", func(f *process.Facts) { f.Lockdown = "integrity" }, true, "lockdown", stateOK, ""},
		{"rootless", func(f *process.Facts) { f.InitialUserNamespace = false }, false, "user_namespace", stateMissing, "on the host"},
		{"strange proc", func(f *process.Facts) { f.OwnProc = false }, true, "proc", stateReduced, "mount -t proc"},
		{"interpreted", func(f *process.Facts) { f.BPFJIT.Value = 0 }, true, "bpf_jit", stateReduced, "sysctl"},
		{"no ptrace", func(f *process.Facts) { f.PtraceScope = process.Setting{Value: 3, Known: true} }, true, "ptrace_scope", stateReduced, "tracer run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := able()
			c.change(&facts)
			d := diagnose(facts)
			at := slices.IndexFunc(d.Checks, func(f finding) bool { return f.ID == c.id })
			if d.Possible != c.possible || at < 0 || d.Checks[at].State != c.state {
				t.Errorf("possible %v, checks %+v", d.Possible, d.Checks)
			}
			var out bytes.Buffer
			if err := printDiagnosis(&out, d); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.advice == "" && (len(d.Actions) > 0 || !strings.Contains(out.String(), "nothing to do")):
				t.Errorf("there is nothing to do, but: %+v", d.Actions)
			case !strings.Contains(out.String(), c.advice):
				t.Errorf("no advice with %q in\n%s", c.advice, out.String())
			}
		})
	}
}

// TestFeatures: what a kernel has decides, whatever it is called.
func TestFeatures(t *testing.T) {
	all := ledger.Features{Loop: true, Cast: true, ExactResident: true}
	for _, c := range []struct {
		name      string
		change    func(*ledger.Features)
		possible  bool
		id, state string
		advice    string
	}{
		{"all", func(*ledger.Features) {}, true, "helpers", stateOK, ""},
		{"helper", func(f *ledger.Features) { f.Missing = []string{"bpf_get_attach_cookie"} }, false, "helpers", stateMissing, "bpf_get_attach_cookie"},
		{"loop", func(f *ledger.Features) { f.Loop = false }, true, "bpf_loop", stateReduced, ""},
		{"cast", func(f *ledger.Features) { f.Cast = false }, true, "rdonly_cast", stateReduced, ""},
		{"counters", func(f *ledger.Features) { f.ExactResident = false }, true, "rss_counters", stateReduced, "bound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := all
			c.change(&f)
			d := diagnosis{Possible: true}
			d.features(f, nil)
			at := slices.IndexFunc(d.Checks, func(f finding) bool { return f.ID == c.id })
			if d.Possible != c.possible || at < 0 || d.Checks[at].State != c.state {
				t.Errorf("possible %v, checks %+v", d.Possible, d.Checks)
			}
			if (c.advice == "") != (len(d.Actions) == 0) || len(d.Actions) > 0 && !strings.Contains(d.Actions[0].Problem, c.advice) {
				t.Errorf("actions %+v", d.Actions)
			}
		})
	}
}

func TestDoctorJSON(t *testing.T) {
	var out, errs bytes.Buffer
	status := run([]string{"doctor", "--format", "json", "--quick"}, nil, &out, &errs)
	var d map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("status %d: %v\n%s%s", status, err, errs.String(), out.String())
	}
	for _, key := range []string{
		"schema", "tracer", "possible", "kernel", "cpus", "root", "checks", "meters", "costs", "running_pythons", "installed_pythons",
		"not_examined", "actions",
	} {
		if v, ok := d[key]; !ok || string(v) == "null" {
			t.Errorf("%q is %s", key, v)
		}
	}
	if possible := string(d["possible"]) == "true"; possible != (status == 0) || !possible && status != statusCannotTrace {
		t.Errorf("possible %v, status %d", possible, status)
	}
	if os.Getenv("TRACER_REQUIRE_BPF") == "1" && status != 0 {
		t.Errorf("TRACER_REQUIRE_BPF is 1, but tracing is not possible: %s", out.String())
	}
}

// TestDoctorMeasures needs the program itself: the processes it times are that program.
func TestDoctorMeasures(t *testing.T) {
	needBPF(t)
	out, err := exec.Command(buildTracer(t), "doctor", "--format", "json").Output()
	var d diagnosis
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	if !d.Possible && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
		t.Skip("this machine cannot trace")
	}
	if err != nil || len(d.Costs) != 6 || len(d.Meters) == 0 {
		t.Fatalf("%v: %d costs, %d meters; not examined: %q", err, len(d.Costs), len(d.Meters), d.Unseen)
	}
	for _, c := range d.Costs {
		if strings.HasPrefix(c.ID, "uprobe") == (c.Ratio > 0) || c.Ratio > 20 {
			t.Errorf("%+v", c)
		}
	}
}

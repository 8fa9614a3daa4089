package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/doctor"
)

// needBPF skips where tracing is not permitted, unless it must be.
func needBPF(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("traces for some seconds")
	}
	if os.Geteuid() != 0 {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("TRACER_REQUIRE_BPF is 1, but this is not root")
		}
		t.Skip("needs root")
	}
}

func TestSelftest(t *testing.T) {
	needBPF(t)
	path := buildTracer(t)
	var out, errs bytes.Buffer
	cmd := exec.Command(path, "selftest", "--format", "json")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() == console.CannotTrace && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
		t.Skipf("this machine cannot trace: %s", errs.String())
	}
	if err != nil {
		t.Fatalf("selftest: %v\n%s%s", err, errs.String(), out.String())
	}
	var r doctor.SelftestResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Passed || r.Failure != "" || r.Schema != doctor.SelftestSchema || len(r.Workloads) < len(doctor.Workloads)+1 {
		t.Errorf("passed %v, failure %q, schema %q, %d workloads", r.Passed, r.Failure, r.Schema, len(r.Workloads))
	}
	for _, w := range append(r.Workloads, r.Cells...) {
		if len(w.Figures) == 0 {
			t.Errorf("%s compared nothing", w.Name)
		}
	}
}

// TestSelftestGPU runs the GPU's part on the stand-in for the CUDA driver.
func TestSelftestGPU(t *testing.T) {
	needBPF(t)
	path, libraries := buildTracer(t), t.TempDir()
	build := exec.Command("/usr/bin/python3", "../../testdata/gpu/build.py", libraries)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the stand-ins: %v: %s", err, out)
	}
	cmd := exec.Command(path, "selftest", "--format", "json", "--only", "GPU")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("selftest: %v\n%s", err, out)
	}
	var r doctor.SelftestResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Passed || len(r.Cells) != 1 || r.Cells[0].Name != "GPU" || len(r.Cells[0].Figures) != 3 {
		t.Errorf("%+v", r)
	}
}

func TestSelftestWrongUsage(t *testing.T) {
	wrong := [][]string{{"--format", "xml"}, {"extra"}}
	if os.Geteuid() == 0 {
		wrong = append(wrong, []string{"--only", "nonsense"}, []string{"--python", "/bin/true"},
			[]string{"--python", "/nowhere"})
	}
	for _, args := range wrong {
		var errs bytes.Buffer
		if code := run(append([]string{"selftest"}, args...), nil, &errs, &errs); code != console.WrongUsage {
			t.Errorf("%q: status %d: %s", args, code, errs.String())
		}
	}
}

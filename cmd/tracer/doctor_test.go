package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/doctor"
)

func TestDoctorJSON(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"doctor", "--format", "json", "--quick"}, nil, &out, &errs)
	var d map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("status %d: %v\n%s%s", code, err, errs.String(), out.String())
	}
	for _, key := range []string{
		"schema", "tracer", "possible", "kernel", "cpus", "root", "checks", "meters", "costs", "running_pythons",
		"installed_pythons", "not_examined", "actions",
	} {
		if v, ok := d[key]; !ok || string(v) == "null" {
			t.Errorf("%q is %s", key, v)
		}
	}
	if possible := string(d["possible"]) == "true"; possible != (code == 0) ||
		!possible && code != console.CannotTrace {
		t.Errorf("possible %v, status %d", possible, code)
	}
	if os.Getenv("TRACER_REQUIRE_BPF") == "1" && code != 0 {
		t.Errorf("TRACER_REQUIRE_BPF is 1, but tracing is not possible: %s", out.String())
	}
}

// TestDoctorMeasures needs the program itself: it is also the program of the timed processes.
func TestDoctorMeasures(t *testing.T) {
	needBPF(t)
	out, err := exec.Command(buildTracer(t), "doctor", "--format", "json").Output()
	var d doctor.Diagnosis
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

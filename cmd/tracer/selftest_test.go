package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
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
	if cmd.ProcessState.ExitCode() == statusCannotTrace && os.Getenv("TRACER_REQUIRE_BPF") != "1" {
		t.Skipf("this machine cannot trace: %s", errs.String())
	}
	if err != nil {
		t.Fatalf("selftest: %v\n%s%s", err, errs.String(), out.String())
	}
	var r selftestResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Passed || r.Failure != "" || r.Schema != selftestSchema || len(r.Workloads) < len(workloads)+1 {
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
	if out, err := exec.Command("/usr/bin/python3", "../../testdata/gpu/build.py", libraries).CombinedOutput(); err != nil {
		t.Fatalf("build the stand-ins: %v: %s", err, out)
	}
	cmd := exec.Command(path, "selftest", "--format", "json", "--only", "GPU")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("selftest: %v\n%s", err, out)
	}
	var r selftestResult
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Passed || len(r.Cells) != 1 || r.Cells[0].Name != "GPU" || len(r.Cells[0].Figures) != 3 {
		t.Errorf("%+v", r)
	}
}

// TestSelftestSaysWhatIsWrong makes a figure wrong by one byte.
func TestSelftestSaysWhatIsWrong(t *testing.T) {
	var out bytes.Buffer
	s := &selftest{console: console{out: &out, err: &out}, text: true}
	err := s.step(&s.result.Workloads, "spike", "about", func() (result, error) {
		return result{Figures: []figure{newFigure(meterResident, "process", 4096, 4097, 0)}}, nil
	})
	status, message := explain(err)
	if status != statusFailed || !errors.Is(err, errSelftest) {
		t.Errorf("status %d, error %v", status, err)
	}
	for _, want := range []string{"spike", meterResident, "4096", "4097", "+1"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not name %q", message, want)
		}
	}
	if !strings.HasPrefix(out.String(), "✗ spike") {
		t.Errorf("printed %q", out.String())
	}
}

func TestSelftestWrongUsage(t *testing.T) {
	wrong := [][]string{{"--format", "xml"}, {"extra"}}
	if os.Geteuid() == 0 {
		wrong = append(wrong, []string{"--only", "nonsense"}, []string{"--python", "/bin/true"}, []string{"--python", "/nowhere"})
	}
	for _, args := range wrong {
		var errs bytes.Buffer
		if status := run(append([]string{"selftest"}, args...), nil, &errs, &errs); status != statusUsage {
			t.Errorf("%q: status %d: %s", args, status, errs.String())
		}
	}
}

const smapsText = `00400000-00500000 r-xp 00000000 fe:00 12                                 /usr/bin/thing
Size:               1024 kB
Rss:                 600 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00600000-00700000 rw-p 00000000 fe:00 12                                 /usr/bin/thing: with a colon
Size:               1024 kB
Rss:                 100 kB
Anonymous:            40 kB
VmFlags: rd wr mr mw me ac
7f0000000000-7f0000200000 rw-s 00000000 00:01 99                         /memfd:x (deleted)
Size:               2048 kB
Rss:                2048 kB
Anonymous:             0 kB
VmFlags: rd wr sh mr mw me ms
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
Size:                132 kB
Rss:                  12 kB
Anonymous:            12 kB
VmFlags: rd wr mr mw me gd ac
`

func TestParseSmaps(t *testing.T) {
	got, err := parseSmaps([]byte(smapsText))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		meterMapped: 1024 << 10, meterResident: (600 + 100 + 2048 + 12) << 10, meterAnon: 52 << 10,
		meterFile: 660 << 10, meterShmem: 2048 << 10,
	}
	for meter, n := range want {
		if got[meter] != n {
			t.Errorf("%s = %d, want %d", meter, got[meter], n)
		}
	}
	if _, err := parseSmaps([]byte("nothing")); !errors.Is(err, errNoTruth) {
		t.Errorf("parseSmaps of nonsense: %v", err)
	}
}

func TestParseTruthsRefuses(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "words": "what is this", "too long": "1 2 3\n", "negative": "1 -5 2\nxxxx"} {
		if _, err := parseTruths([]byte(text)); !errors.Is(err, errNoTruth) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

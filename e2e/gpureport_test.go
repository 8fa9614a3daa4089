package e2e

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/gpu"
	"ipytracer/model"
)

// formatsOfReports are all but text; the help of --format has them.
var formatsOfReports = strings.Fields("json csv html pprof allocations-csv perfetto memory-viz markdown")

// TestGPUReports plays a recording of an H200 back under a session. It goes through every format, the comparison and
// the plan, and all that have figures of the GPU have PyTorch's own.
func TestGPUReports(t *testing.T) {
	together(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "h200.arrows")
	p := place{driver: "../gpu/replay/run_replay.py", extra: []string{"torch-default"}}
	r, results, windows := runGPU(t, p, nil, withNVML(t, 612<<20), "--budget", "off", "--record", file)
	var highest int64
	for i, run := range results {
		checkDevices(t, run.Name, run.Truth, windows[i].Meters)
		highest = max(highest, run.Truth["gpu.0.active"].Peak)
	}
	if highest < 8<<30 {
		t.Fatalf("PyTorch's active memory was %d at most", highest)
	}
	print := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.Command(binary, args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || out.Len() == 0 {
			t.Fatalf("%v: %v: %s", args, err, &errs)
		}
		return out.Bytes()
	}
	printed := map[string][]byte{}
	for _, format := range formatsOfReports {
		printed[format] = print("report", file, "--format", format)
	}
	var again struct {
		GPUs    []model.GPU
		Windows []json.RawMessage
	}
	if err := json.Unmarshal(printed["json"], &again); err != nil || len(again.GPUs) == 0 ||
		len(again.Windows) != len(r.Windows) {
		t.Errorf("%v: %d windows, want %d; %+v", err, len(again.Windows), len(r.Windows), again.GPUs)
	}
	checkGPUTable(t, printed["csv"], results)
	checkSnapshot(t, dir, printed["memory-viz"], highest)
	for format, want := range map[string]string{
		"allocations-csv": "gpu.0.active", "html": "all of the GPU", "perfetto": "gpu.0.active",
		"markdown": "`gpu.0.active` 8.50 GiB",
	} {
		if !bytes.Contains(printed[format], []byte(want)) {
			t.Errorf("%s has no %q", format, want)
		}
	}
	if err := json.Unmarshal(print("plan", file, "--format", "json"), new(model.Plan)); err != nil {
		t.Error(err)
	}
	text := string(print("plan", file))
	if !strings.Contains(text, "nvidia.com/gpu: 1") || !strings.Contains(text, "GPU 0\nneeds ") {
		t.Errorf("the plan:\n%s", text)
	}
	checkView(t, file)
	text = string(print("diff", file, file))
	if !strings.Contains(text, "GPU 0") && !strings.Contains(text, "none: no cell needs") {
		t.Errorf("the comparison with itself:\n%s", text)
	}
}

// checkView opens the recording's page, and compares it with the page of --format html.
func checkView(t *testing.T, file string) {
	t.Helper()
	cmd := exec.Command(binary, "view", file)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	answer, err := http.Get(strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("GPU 0 reserved")) ||
		!bytes.Contains(page, []byte("all of the GPU")) {
		t.Errorf("status %d, %d bytes: %v", answer.StatusCode, len(page), err)
	}
}

// checkGPUTable compares the rows of cells with PyTorch's own figures.
func checkGPUTable(t *testing.T, table []byte, results []result) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	cells := 0
	for _, row := range rows[1:] {
		if row[column["kind"]] != model.Cell {
			continue
		}
		truth := results[cells].Truth["gpu.0.active"]
		peak, err := strconv.ParseInt(row[column["gpu.0.active.peak"]], 10, 64)
		if err != nil || truth != nil && peak != truth.Peak {
			t.Errorf("%s: %d in the table, %+v: %v", results[cells].Name, peak, truth, err)
		}
		cells++
	}
	if cells != len(results) {
		t.Errorf("%d cells in the table, %d ran", cells, len(results))
	}
}

// checkSnapshot reads the snapshot as Python does, and checks that its blocks follow one another within their segment,
// and that their sum is right.
func checkSnapshot(t *testing.T, dir string, snapshot []byte, want int64) {
	t.Helper()
	path := filepath.Join(dir, "snapshot.pickle")
	if err := os.WriteFile(path, snapshot, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python(), "-c", `
import pickle, sys
s = pickle.load(open(sys.argv[1], "rb"))
for segment in s["segments"]:
    at = segment["address"]
    for block in segment["blocks"]:
        assert block["address"] == at and block["size"] > 0 and block["state"] == "active_allocated", block
        at += block["size"]
    assert at == segment["address"] + segment["total_size"] == segment["address"] + segment["active_size"], segment
made = sum(e["size"] for e in s["device_traces"][0] if e["action"] == "alloc")
print(sum(g["total_size"] for g in s["segments"] if g["device"] == 0), made)
`, path).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil ||
		got != strconv.FormatInt(want, 10)+" "+strconv.FormatInt(want, 10) {
		t.Errorf("%v: %s, want %d", err, got, want)
	}
}

// TestMemoryVizWithoutGPU: where there can be no GPU, an error says so before anything is traced; where there might
// have been one, the report is not lost.
func TestMemoryVizWithoutGPU(t *testing.T) {
	require(t)
	dir := t.TempDir()
	run := func(env ...string) (status int, errs string) {
		t.Helper()
		var stderr bytes.Buffer
		cmd := exec.Command(binary, "run", "--format", "memory-viz", "-o", filepath.Join(dir, "snapshot.pickle"), "--",
			python(), "-c", "print('it ran')")
		cmd.Env, cmd.Stderr = append(os.Environ(), env...), &stderr
		out, _ := cmd.Output()
		return cmd.ProcessState.ExitCode(), string(out) + stderr.String()
	}
	if gpu.FindLibrary(gpu.CUDALibrary) == "" && gpu.LoadedDriver("/proc") == "" && !gpu.Loadable() {
		if status, said := run(); status != 3 || !strings.Contains(said, "this machine has no NVIDIA driver") ||
			strings.Contains(said, "it ran") {
			t.Errorf("status %d: %s", status, said)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, gpu.CUDALibrary), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	status, said := run("LD_LIBRARY_PATH=" + dir)
	for _, want := range []string{"it ran", "Certificate: complete", "this session has no memory on a GPU",
		"instead the output is above, as text on standard error"} {
		if status != 1 || !strings.Contains(said, want) {
			t.Errorf("status %d, no %q: %s", status, want, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "snapshot.pickle")); !os.IsNotExist(err) {
		t.Errorf("an empty snapshot was left: %v", err)
	}
}

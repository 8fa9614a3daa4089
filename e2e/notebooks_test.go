package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ipytracer/model"
)

// marker has the facts about itself in a line of a notebook (testdata/notebooks/notebook_text.py).
type marker struct {
	Says     string `json:"says"`
	Of       string `json:"of"`
	Bytes    int64  `json:"bytes"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Cell     string `json:"cell"`
}

// kernelMemory is the resident set of a kernel's process while it is idle, in bytes, and its highest value since the
// last reset.
type kernelMemory struct {
	Resident  int64 `json:"resident"`
	HighWater int64 `json:"high_water"`
}

// tally counts over the whole suite.
type tally struct {
	mu                         sync.Mutex
	cells, windows, exactly    int
	torchWindows, torchExactly int
	needs, needsWithin         int
	origins
}

// TestNotebooks runs ordinary notebooks under the default budget and compares the report of every cell with the client,
// the notebook itself and the kernel's own high-water mark. Then it follows the report's advice on freeing memory.
// It takes half of the notebooks, by turns: none of those that TestVerdictsNotebooks has then, and always PyTorch's.
// `make test-notebooks` runs all of them.
func TestNotebooks(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "seaborn", "joblib", "torch", "PIL", "pandas")
	all := &tally{}
	t.Run("all", func(t *testing.T) {
		for i, names := range notebooks(t) {
			if !isItsTurn(i+1, 2) && !slices.Contains(names, "torch_training") {
				continue
			}
			t.Run(kernelName(names), func(t *testing.T) {
				t.Parallel()
				checkNotebook(t, names, all)
			})
		}
	})
	t.Logf("%d cells; cpu.numpy exact in %d of %d, cpu.torch in %d of %d; "+
		"needs within 1 %% or 1 MiB of VmHWM: %d of %d",
		all.cells, all.exactly, all.windows, all.torchExactly, all.torchWindows, all.needsWithin, all.needs)
	if lacking := all.windows - all.exactly; all.cells == 0 || lacking > (all.windows+99)/100 {
		t.Errorf("cpu.numpy is exact in %d of %d cells, want 99 %%", all.exactly, all.windows)
	}
	if lacking := all.torchWindows - all.torchExactly; all.torchWindows == 0 || lacking > (all.torchWindows+99)/100 {
		t.Errorf("cpu.torch is exact in %d of %d cells, want 99 %%", all.torchExactly, all.torchWindows)
	}
	all.origins.check(t)
}

// long are notebooks that run one after another in one kernel, as one of 60 cells.
var long = []string{"plots", "groupby", "gridsearch", "heldafter"}

// kernelName returns the names of the notebooks of one kernel; of a file, without its folder.
func kernelName(names []string) string {
	var bases []string
	for _, name := range names {
		bases = append(bases, strings.TrimSuffix(filepath.Base(name), ".ipynb"))
	}
	return strings.Join(bases, "+")
}

// notebooks returns, for each kernel, the names of the notebooks that run in it: those of testdata/notebooks, or those
// in $TRACER_NOTEBOOKS. A name with a slash is a path of a notebook's file.
func notebooks(t *testing.T) [][]string {
	t.Helper()
	var kernels [][]string
	if named := os.Getenv("TRACER_NOTEBOOKS"); named != "" && named != "all" {
		for _, name := range strings.Split(named, ",") {
			kernels = append(kernels, strings.Split(name, "+"))
		}
		return kernels
	}
	files, err := filepath.Glob("../testdata/notebooks/*.ipy")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d notebooks: %v", len(files), err)
	}
	kernels = append(kernels, long)
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".ipy"); !slices.Contains(long, name) {
			kernels = append(kernels, []string{name})
		}
	}
	return kernels
}

func needModules(t *testing.T, modules ...string) {
	t.Helper()
	const look = `import importlib.util, sys
sys.exit(", ".join(name for name in sys.argv[1:] if not importlib.util.find_spec(name)) or 0)`
	if out, err := exec.Command(python(), append([]string{"-c", look}, modules...)...).CombinedOutput(); err != nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatalf("no %s: scripts/install.sh test", out)
		}
		t.Skipf("no %s", out)
	}
}

func checkNotebook(t *testing.T, names []string, all *tally) {
	t.Helper()
	s := runNotebooks(t, names)
	cells := topCells(s.report, s.pid)
	if len(cells) != len(s.results) {
		t.Fatalf("%d cells ran, %d windows: %v", len(s.results), len(cells), sources(cells))
	}
	for i, w := range cells {
		checkTyped(t, w, s.results[i])
	}
	checkFigures(t, cells, s.results, all)
	all.origins.add(t, s.report)
	checkKept(t, cells, s.results)
	checkSize(t, s)
	checkReplay(t, s)
	checkPlanted(t, s)
	checkFirstScreen(t, names, s)
	t.Run("freed", func(t *testing.T) { checkFreed(t, s) })
}

func checkFigures(t *testing.T, cells []model.Window, results []result, all *tally) {
	t.Helper()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.cells += len(cells)
	countExact(t, cells, results, all)
	checkNeeds(t, cells, results, all)
}

// notebookSession is one traced run of notebooks in one kernel.
type notebookSession struct {
	report    *model.Report
	json      []byte
	results   []result
	pid       int
	recording string
	highWater int64     // bytes, the tracer's own
	workload  *workload // that ran them, and goes on
}

func runNotebooks(t *testing.T, names []string) notebookSession {
	t.Helper()
	w := startWorkload(t, place{driver: "../notebooks/run_notebook.py"}, names)
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, w.pid, "--record", recording)
	results := w.run()
	highest := watchHighWater(tr)
	asked := time.Now()
	r, data := tr.stop()
	s := notebookSession{r, data, results, w.pid, recording, <-highest, w}
	t.Logf("%d cells: JSON %.1f MiB, written %.2f s after it was asked for; the tracer took %.0f MiB at its highest",
		len(results), mebibytes(int64(len(data))), time.Since(asked).Seconds(), mebibytes(s.highWater))
	return s
}

// checkTyped compares the client's input and output with the window.
func checkTyped(t *testing.T, w model.Window, run result) {
	t.Helper()
	if w.Status != run.Expected {
		t.Errorf("%s: status %s, want %s", run.Name, w.Status, run.Expected)
	}
	if w.ExecutionCount == nil || run.ExecutionCount == nil || *w.ExecutionCount != *run.ExecutionCount {
		t.Errorf("%s: execution count %v, want %v", run.Name, show(w.ExecutionCount), show(run.ExecutionCount))
	}
	if w.Source != run.Source {
		t.Errorf("%s: source %q, typed %q", run.Name, w.Source, run.Source)
	}
}

func countExact(t *testing.T, cells []model.Window, results []result, all *tally) {
	t.Helper()
	for i, w := range cells {
		all.windows++
		if f := w.Meters["cpu.numpy"]; f.Exact {
			all.exactly++
		} else {
			t.Logf("%s: cpu.numpy is not exact: %+v", results[i].Name, f)
		}
		f, ok := w.Meters["cpu.torch"]
		if !ok {
			continue
		}
		all.torchWindows++
		if f.Exact {
			all.torchExactly++
		} else {
			t.Logf("%s: cpu.torch is not exact: %+v", results[i].Name, f)
		}
	}
}

// checkNeeds compares the rise of resident memory in each cell with VmHWM. VmHWM can be off by 32 pages for each of
// three counters and each CPU (lib/percpu_counter.c): 768 KiB on 2 CPUs. If Linux reclaims cold memory (DAMON), VmHWM
// also includes memory that was reclaimed between its reset and the cell.
func checkNeeds(t *testing.T, cells []model.Window, results []result, all *tally) {
	t.Helper()
	for i, w := range cells {
		run, f := results[i], w.Meters["cpu.resident"]
		rose, truth, taken := f.Peak-f.Start, run.After.HighWater-run.Before.Resident, run.Before.Resident-f.Start
		all.needs++
		if taken < 1<<20 { // VmRSS may be off by as much
			taken = 0
		}
		if off, most := rose-truth, max(1<<20, truth/100); -most <= off && off <= most+taken {
			all.needsWithin++
		} else {
			t.Errorf("%s: needs %d, VmHWM rose by %d; %d were taken before it began", run.Name, rose, truth, taken)
		}
	}
}

// small is the memory that a cell may leave beside its array.
const small = 64 << 10

// checkKept checks that an array counts from the cell that makes it to the cell that frees it, whatever ran in between.
func checkKept(t *testing.T, cells []model.Window, results []result) {
	t.Helper()
	meters := map[string]string{"": "cpu.numpy", "torch": "cpu.torch"}
	live := map[string]int64{}
	for i, w := range cells {
		for _, m := range results[i].Markers {
			f := w.Meters[meters[m.Of]]
			switch m.Says {
			case "makes":
				live[m.Of] += m.Bytes
				if !isLeast(f) && f.End < live[m.Of] {
					t.Errorf("%s: %s ends at %d, below the %d it made", m.Cell, meters[m.Of], f.End, m.Bytes)
				}
			case "frees":
				live[m.Of] -= m.Bytes
				if off := f.Consumed + m.Bytes; !f.Exact || max(off, -off) > small {
					t.Errorf("%s: %s moved by %d (exact: %t), but %d were freed", m.Cell, meters[m.Of], f.Consumed,
						f.Exact, m.Bytes)
				}
				if !freed(w, meters[m.Of], m.Bytes) {
					t.Errorf("%s: no line is said to have had its %d bytes of %s freed", m.Cell, m.Bytes, meters[m.Of])
				}
			}
		}
		for of, bytes := range live {
			if f := w.Meters[meters[of]]; bytes > 0 && !isLeast(f) && f.End < bytes {
				t.Errorf("%s: %s ends at %d, but %d of before are still held", results[i].Name, meters[of], f.End,
					bytes)
			}
		}
	}
}

// isLeast reports whether a figure is only a lower bound. Such a figure includes no memory from before a pause.
func isLeast(f model.Figure) bool { return !f.Exact && f.Bound == nil }

func freed(w model.Window, meter string, bytes int64) bool {
	for _, a := range w.Allocations {
		if a.Meter == meter && a.Freed >= bytes {
			return true
		}
	}
	return false
}

// These are limits of a session of 60 cells: bytes of JSON, bytes of the tracer at its highest, lines of text. It
// should take at most 100 MiB of memory. It takes 106 to 114, since objects that wait for the garbage collector are
// looked at, too. When Go's collector runs depends on the machine.
const jsonLimit, memoryLimit, textLimit = 5_000_000, 120 << 20, 80

func checkSize(t *testing.T, s notebookSession) {
	t.Helper()
	if len(s.json) > jsonLimit {
		t.Errorf("the JSON of %d cells is %d bytes", len(s.results), len(s.json))
	}
	if s.highWater > memoryLimit || s.highWater == 0 {
		t.Errorf("the tracer took %.1f MiB at its highest", mebibytes(s.highWater))
	}
	text, err := exec.Command(binary, "report", s.recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > textLimit || lines < 10 {
		t.Errorf("the text of %d cells is %d lines:\n%s", len(s.results), lines, text)
	}
}

// checkReplay compares the output of the recording with the live output.
func checkReplay(t *testing.T, s notebookSession) {
	t.Helper()
	replayed, err := exec.Command(binary, "report", "--format", "json", s.recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.json, replayed) {
		t.Errorf("live and replayed reports differ:\n%s", difference(s.json, replayed))
		keep(t, s.recording)
	}
}

// checkPlanted checks that the audit of the recording finds every leak that the notebook declares.
func checkPlanted(t *testing.T, s notebookSession) {
	t.Helper()
	out, err := exec.Command(binary, "audit", "--quiet", "--format", "json", s.recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	a := readAudit(t, out)
	for _, run := range s.results {
		for _, m := range run.Markers {
			if m.Says != "leaks" {
				continue
			}
			want := planted{Notebook: m.Cell, Kinds: strings.Split(m.Of, "|"), Meter: "cpu.numpy", Bytes: m.Bytes,
				Count: 1, Function: m.Function, Lines: []int{m.Line}, Exact: true}
			if !found(a, want) {
				verdicts, _ := json.Marshal(a.Verdicts)
				t.Errorf("%s: no verdict %v of %d bytes at line %d: %.2000s", m.Cell, want.Kinds, m.Bytes, m.Line,
					verdicts)
			}
		}
	}
}

func found(a *model.Audit, want planted) bool {
	for _, v := range a.Verdicts {
		if isPlanted(v, want) {
			return true
		}
	}
	return false
}

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// planted is a leak that an audit must find.
type planted struct {
	Notebook string   `json:"notebook"`
	Kinds    []string `json:"kinds"`
	Meter    string   `json:"meter"`
	Bytes    int64    `json:"bytes"`
	Count    int64    `json:"count"`
	Function string   `json:"function"`
	Lines    []int    `json:"lines"`
	Exact    bool     `json:"exact"`
	Says     string   `json:"says"` // in its evidence or its holder
}

// TestAudit checks that the audit finds every planted leak and names its line, its blocks to the byte, and nothing
// else. Healthy notebooks have no verdict, nor have the leaky ones once their cells are changed as advised. It looks at
// a live session and at its recording. It types the advice of each verdict, which frees the memory.
func TestAudit(t *testing.T) {
	together(t)
	for _, c := range []struct{ tree, python string }{
		{"", "host"}, {"bullseye", "/usr/bin/python3.9"}, {"trixie", "/usr/bin/python3.13"},
		{"sid", "/usr/bin/python3.14"},
	} {
		t.Run(filepath.Base(c.python), func(t *testing.T) {
			p := place{driver: "run_leaks.py"}
			if c.tree != "" {
				p.chroot, p.python = filepath.Join(pythonsDir(), c.tree), c.python
				needTree(t, p.chroot)
				enter(t, p.chroot)
			}
			for _, list := range []string{"leaks", "healthy", "followed"} {
				t.Run(list, func(t *testing.T) {
					t.Parallel() // both on one Python: neither depends on time
					checkAudit(t, p, []string{list})
				})
			}
		})
	}
}

// TestAuditPyTorch does the same for the memory of GPUs.
func TestAuditPyTorch(t *testing.T) {
	together(t)
	all := pytorch(t)
	for _, list := range []string{"leaks", "healthy"} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			p := all
			p.driver, p.extra = "../gpu/pytorch/run_leaks.py", []string{"--list", list}
			checkAudit(t, p, nil)
		})
	}
}

func checkAudit(t *testing.T, p place, list []string) {
	t.Helper()
	w := startWorkload(t, p, list)
	recorded := filepath.Join(t.TempDir(), "run.arrows")
	t.Cleanup(func() { keep(t, recorded) })
	var second *trace
	if slices.Equal(list, []string{"leaks"}) {
		second = attach(t, w.pid, "--budget", "off")
	}
	tr := traced(t, nil, w.pid, "audit", "--budget", "off", "--record", recorded)
	results := w.run()
	live := tr.audit(0)
	expect := results[len(results)-1].Expect
	for _, missing := range checkVerdicts(t, live, expect) {
		tellBlocks(t, recorded, event.Bytes(missing.Bytes/max(missing.Count, 1)))
	}
	out, err := exec.Command(binary, "audit", "--quiet", "--format", "json", recorded).Output()
	if err != nil {
		t.Fatalf("audit of the recording: %v", err)
	}
	if again := readAudit(t, out); len(again.Verdicts) != len(live.Verdicts) {
		t.Errorf("the recording gives %d verdicts, the session gave %d", len(again.Verdicts), len(live.Verdicts))
	}
	if second != nil {
		followAdvice(t, w, live.Verdicts, second)
	}
}

// checkVerdicts checks that every leak has a verdict, and every verdict a leak. It returns the leaks without one.
func checkVerdicts(t *testing.T, a *model.Audit, want []planted) (missing []planted) {
	t.Helper()
	left := slices.Clone(a.Verdicts)
	for _, p := range want {
		i := slices.IndexFunc(left, func(v model.Verdict) bool { return isPlanted(v, p) })
		if i < 0 {
			t.Errorf("%s: no verdict %v of %d bytes of %s in %d blocks at %s line %v", p.Notebook, p.Kinds, p.Bytes,
				p.Meter, p.Count, p.Function, p.Lines)
			missing = append(missing, p)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, v := range left {
		t.Errorf("a verdict on nothing: %s of %d bytes of %s in %d blocks, cells %v, %s: %s %s", v.Kind, v.Bytes,
			v.Meter, v.Count, v.ExecutionCounts, describeStack(v.Stack), v.Evidence, v.Holder)
	}
	// Resident memory is never all arrays, and a busy machine may be too slow for native frames.
	for _, n := range a.NotJudged {
		slow := n.Reason == model.RecordsLost && strings.HasPrefix(n.Why, event.LostNative)
		if n.Reason != model.MadeBefore && n.Reason != model.NotExplained && !slow {
			t.Errorf("not judged: %+v", n)
		}
	}
	return missing
}

func isPlanted(v model.Verdict, p planted) bool {
	if !slices.Contains(p.Kinds, v.Kind) || v.Meter != p.Meter || p.Count > 0 && v.Count != p.Count ||
		p.Exact && p.Bytes > 0 && v.Bytes != p.Bytes || !strings.Contains(v.Evidence+v.Holder, p.Says) {
		return false
	}
	return slices.ContainsFunc(v.Stack, func(f model.Frame) bool {
		function := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
		return function == p.Function && f.Execution > 0 && slices.Contains(p.Lines, f.Line)
	})
}

func describeStack(stack []model.Frame) string {
	var parts []string
	for _, f := range stack {
		parts = append(parts, fmt.Sprintf("%s:%d", f.Function, f.Line))
	}
	return strings.Join(parts, " < ")
}

func readAudit(t *testing.T, data []byte) *model.Audit {
	t.Helper()
	if err := reporttest.CheckAudit(data); err != nil {
		t.Fatalf("the audit does not follow its schema: %v\n%s", err, data)
	}
	a, err := report.ReadAuditJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// keep copies the recording of a failed test to a folder that stays: it is the only trace of a rare failure.
func keep(t *testing.T, recorded string) {
	if !t.Failed() {
		return
	}
	data, err := os.ReadFile(recorded)
	if err != nil {
		return
	}
	to, err := os.CreateTemp("", "ipytracer-failed-*.arrows")
	if err != nil {
		return
	}
	defer to.Close()
	if _, err := to.Write(data); err == nil {
		t.Logf("the recording is in %s", to.Name())
	}
}

// tellBlocks logs the fate of the blocks of a size, and the cells between which it happened.
func tellBlocks(t *testing.T, recorded string, size event.Bytes) {
	f, err := os.Open(recorded)
	if err != nil {
		return
	}
	defer f.Close()
	source, err := recording.Open(f)
	if err != nil {
		return
	}
	cells := ""
	for {
		e, err := source.Next(context.Background())
		if err != nil {
			return
		}
		switch e := e.(type) {
		case *event.Boundary:
			if e.Kind == event.CellOpen || e.Kind == event.CellClose {
				cells = fmt.Sprintf("%v of cell %d at %d ns, outcome %d", e.Kind, e.Cell, e.Time, e.Outcome)
			}
		case *event.Change:
			if e.Size == size || e.Size == -size {
				t.Logf("%+v\n\tbehind %s", *e, cells)
			}
		}
	}
}

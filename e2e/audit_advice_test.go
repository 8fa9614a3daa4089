package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// again makes the driver run more cells in the same kernel, and returns their In[N].
func (w *workload) again(cells ...string) (counts []int) {
	w.t.Helper()
	line, err := json.Marshal(cells)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.WriteString(w.in, string(line)+"\n"); err != nil {
		w.t.Fatal(err)
	}
	var reply struct{ Results []result }
	w.read(&reply)
	for i, r := range reply.Results {
		if r.Status != "ok" || r.ExecutionCount == nil {
			w.t.Errorf("%q ended with %s: %s", cells[i], r.Status, r.Error)
			counts = append(counts, 0)
			continue
		}
		counts = append(counts, *r.ExecutionCount)
	}
	return counts
}

// needsChange reports whether a verdict is on memory that no code frees: a running program, or stolen memory, must be
// written differently. The list "followed" in leaks.py has those cells, changed as advised.
func needsChange(v model.Verdict) bool {
	return v.Kind == model.FreedLate || v.Kind == model.NeverFreed ||
		strings.HasPrefix(v.Evidence, "no Python object") ||
		strings.Contains(v.Evidence, "a frame that still runs") ||
		strings.Contains(v.Evidence, "the cell failed; its traceback had this until") ||
		v.Meter == "cpu.mapped"
}

// followAdvice types the advice of each verdict into the kernel, and checks in the windows of a second tracer that the
// memory is freed.
func followAdvice(t *testing.T, w *workload, verdicts []model.Verdict, second *trace) {
	t.Helper()
	type freed struct {
		v     model.Verdict
		least int64
		count int
	}
	var all []freed
	byFix := map[string]int{}
	// Memory that waits for the collector goes with any code that collects, so it is freed first.
	collects := func(v model.Verdict) int {
		if strings.HasPrefix(v.Fix, "import gc\n") {
			return 0
		}
		return 1
	}
	verdicts = slices.Clone(verdicts)
	slices.SortStableFunc(verdicts, func(a, b model.Verdict) int { return collects(a) - collects(b) })
	for _, v := range verdicts {
		switch {
		case v.Kind == model.ChildAlive:
			endThem(t, w, v)
		case v.Kind == model.IdlePool:
			shutDown(t, w, v)
		case v.Fix != "":
			least := v.Bytes
			if v.Kind == model.RerunGrowth { // the last one may be in a variable, too
				least -= least / v.Count
			}
			if i, typed := byFix[v.Fix+v.Meter]; typed { // once is enough
				all[i].least += least
				continue
			}
			byFix[v.Fix+v.Meter] = len(all)
			all = append(all, freed{v, least, w.again(v.Fix)[0]})
		case !needsChange(v):
			t.Errorf("nothing to type for %s of %d bytes: %s %s", v.Kind, v.Bytes, v.Evidence, v.Holder)
		}
	}
	r, _ := second.stop()
	for _, f := range all {
		i := slices.IndexFunc(r.Windows, func(x model.Window) bool {
			return x.Kind == model.Cell && x.ExecutionCount != nil && *x.ExecutionCount == f.count
		})
		if i < 0 {
			t.Errorf("no window of In[%d]", f.count)
			continue
		}
		if got := -r.Windows[i].Meters[f.v.Meter].Consumed; got < f.least {
			t.Errorf("%s of %d bytes (%s): %q freed %d, want %d", f.v.Kind, f.v.Bytes, f.v.Holder, f.v.Fix, got,
				f.least)
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d verdicts say what to type", len(all))
	}
}

// endThem ends processes as a verdict on them advises: it types its code.
func endThem(t *testing.T, w *workload, v model.Verdict) {
	t.Helper()
	if len(v.PIDs) == 0 || v.Fix == "" {
		t.Errorf("which processes, and what ends them? %+v", v)
		return
	}
	w.again(v.Fix)
	for _, pid := range v.PIDs {
		awaitGone(t, pid)
	}
}

// shutDown ends a pool as a verdict on it advises.
func shutDown(t *testing.T, w *workload, v model.Verdict) {
	t.Helper()
	code := v.Fix
	switch {
	case code != "":
	case strings.Contains(v.Advice, "terminate() and join() on the pool"):
		code = "pool.terminate()\npool.join()"
	case strings.Contains(v.Advice, "shutdown() on the executor"):
		code = "executor.shutdown()"
	}
	if len(v.PIDs) == 0 || code == "" {
		t.Errorf("which processes, and what to do? %+v", v)
		return
	}
	w.again(code)
	for _, pid := range v.PIDs {
		awaitGone(t, pid)
	}
}

// awaitGone waits until a process has no memory any more.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	until(t, fmt.Sprintf("pid %d has no memory", pid), func() bool { return residentOf(pid) == 0 })
}

// TestAuditJoblib checks that joblib's idle workers are named as such, and end as the verdict advises.
func TestAuditJoblib(t *testing.T) {
	together(t)
	needModules(t, "joblib")
	w := startWorkload(t, place{driver: "run_leaks.py"}, []string{"joblib"})
	tr := traced(t, nil, w.pid, "audit", "--budget", "off")
	results := w.run()
	a := tr.audit(0)
	checkVerdicts(t, a, results[len(results)-1].Expect)
	for _, v := range a.Verdicts {
		shutDown(t, w, v)
	}
}

// residentOf returns the number of resident pages of a process, 0 if it has none any more.
func residentOf(pid int) (pages int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		var size int64
		_, _ = fmt.Sscan(string(data), &size, &pages)
	}
	return pages
}

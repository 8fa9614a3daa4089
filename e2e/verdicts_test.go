package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestVerdictsNotebooks follows every verdict at the end of ordinary notebooks. It collects first: no memory with a
// holder in the audit is freed, and all memory that waits according to the audit is. Then it types the advice of each
// verdict. It takes a quarter of the notebooks, by turns.
func TestVerdictsNotebooks(t *testing.T) {
	together(t)
	needModules(t, "sklearn", "matplotlib", "seaborn", "joblib", "torch", "PIL", "pandas")
	for i, names := range notebooks(t) {
		if !isItsTurn(i, 4) {
			continue
		}
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			w := startWorkload(t, place{driver: "../notebooks/run_notebook.py"}, names)
			second, tr := attach(t, w.pid, "--budget", "off"), traced(t, nil, w.pid, "audit", "--min", "256KiB")
			w.run()
			f := followed{t: t, w: w, a: tr.audit(0)}
			f.collect()
			f.follow()
			r, _ := second.stop()
			f.check(r)
		})
	}
}

// isItsTurn reports whether notebook i of [notebooks] is to run. $TRACER_TURN chooses every turns-th notebook. All of
// them run if $TRACER_NOTEBOOKS names some, and with TRACER_EVERYTHING=1.
func isItsTurn(i, turns int) bool {
	turn, _ := strconv.Atoi(os.Getenv("TRACER_TURN"))
	return i%turns == turn%turns || os.Getenv("TRACER_NOTEBOOKS") != "" || os.Getenv("TRACER_EVERYTHING") == "1"
}

// slackOfCollecting is the memory that a collection may free beyond the audit's, in bytes of a place in the code: some
// KiB or less are not checked.
const slackOfCollecting = 64 << 10

// followed is an audit, with the memory that following its verdicts gave back.
type followed struct {
	t         *testing.T
	w         *workload
	a         *model.Audit
	collected int // In[N] of the collection
	typed     []typedVerdict
}

// typedVerdict is a verdict, and the In[N] of the cell with its advice.
type typedVerdict struct {
	model.Verdict
	at int
}

// collect runs the garbage collector.
func (f *followed) collect() {
	f.t.Helper()
	f.collected = f.w.again("import gc; gc.collect();")[0]
}

// follow types the advice of each verdict, once.
func (f *followed) follow() {
	f.t.Helper()
	for _, v := range f.a.Verdicts {
		f.t.Logf("%s %.2f MiB of %s in %d blocks, %s (probable %v): %s | %s | %q", v.Kind, mebibytes(v.Bytes),
			v.Meter, v.Count, v.Holder, v.Probable, v.Evidence, v.Advice, v.Fix)
		switch {
		case v.Kind == model.Waits:
		case v.Kind == model.ChildAlive:
			endThem(f.t, f.w, v)
		case v.Kind == model.IdlePool:
			shutDown(f.t, f.w, v)
		case v.Fix == "import gc\ngc.collect()":
			f.typed = append(f.typed, typedVerdict{v, f.collected})
		case v.Fix != "":
			f.typed = append(f.typed, typedVerdict{v, f.w.again(v.Fix)[0]})
		case !needsChange(v):
			f.t.Errorf("nothing to type for %s of %d bytes: %s %s", v.Kind, v.Bytes, v.Evidence, v.Holder)
		}
	}
}

// check compares the memory that was freed, by the windows of the second tracer, with what the verdicts say.
func (f *followed) check(r *model.Report) {
	f.t.Helper()
	gone := f.goneWithCollection(r)
	waiting := f.waiting()
	for key, bytes := range gone {
		if bytes > waiting[key]+slackOfCollecting {
			f.t.Errorf("the collector freed %d bytes, of which the audit says that %d wait for it: %s\n%+v", bytes,
				waiting[key], key, f.liveOf(key))
		}
	}
	for _, v := range f.a.Verdicts {
		if v.Kind == model.Waits && !v.Probable {
			var all int64
			for key, bytes := range gone {
				if strings.HasPrefix(key, v.Meter+" ") {
					all += bytes
				}
			}
			if all < v.Bytes-v.Bytes/20 {
				f.t.Errorf("of %d bytes of %s that wait for the collector %d went", v.Bytes, v.Meter, all)
			}
		}
	}
	for _, v := range f.typed {
		least := v.Bytes
		switch {
		case v.Kind == model.RerunGrowth: // the last one may be in a variable, too
			least -= least / v.Count
		case v.View != nil:
			least = v.View.Returns
		}
		if got := -consumed(f.t, r, v.at, v.Meter); got < least-least/20 {
			f.t.Errorf("%s of %d bytes of %s: %q freed %d, want %d", v.Kind, v.Bytes, v.Meter, v.Fix, got, least)
		}
	}
}

// placeOf returns the place in the code and the cell of a stack, and the meter.
func placeOf(meter string, stack []model.Frame) string {
	text := meter + " "
	for _, f := range stack {
		text += fmt.Sprintf("%s %s:%d/%d < ", f.Function, f.File, f.Line, f.Execution)
	}
	return text
}

// goneWithCollection returns the memory that was freed since the last cell of the notebook, up to the collection, by
// its place.
func (f *followed) goneWithCollection(r *model.Report) map[string]int64 {
	f.t.Helper()
	gone := map[string]int64{}
	at := slices.IndexFunc(r.Windows, func(x model.Window) bool {
		return x.Kind == model.Cell && x.ExecutionCount != nil && *x.ExecutionCount == f.collected
	})
	if at < 0 {
		f.t.Fatalf("no window of In[%d]", f.collected)
	}
	for _, a := range r.Windows[at].Allocations {
		if a.Meter == "cpu.numpy" || a.Meter == "cpu.torch" {
			gone[placeOf(a.Meter, a.Stack)] += a.Freed
		}
	}
	return gone
}

// waiting returns the memory that only waits for the collector according to the audit, by its place.
func (f *followed) waiting() map[string]int64 {
	waiting := map[string]int64{}
	perhaps := slices.ContainsFunc(f.a.Verdicts,
		func(v model.Verdict) bool { return v.Kind == model.Waits && v.Probable })
	for _, l := range f.a.Live {
		if l.By == "cycle" || l.By == "none" && perhaps {
			waiting[placeOf(l.Meter, l.Stack)] += l.Bytes
		}
	}
	return waiting
}

// liveOf returns the rows of the audit about a place.
func (f *followed) liveOf(key string) (out []string) {
	for _, l := range f.a.Live {
		if placeOf(l.Meter, l.Stack) == key {
			out = append(out, fmt.Sprintf("%d bytes in %d blocks by %s %s", l.Bytes, l.Count, l.By, l.Holder))
		}
	}
	return out
}

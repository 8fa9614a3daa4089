package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipytracer/model"
)

// leaky are cells that leave memory behind in each way that has a known holder, and memory with names of the user.
var leaky = []string{
	"import json, os, numpy as np, ipytracer",
	"acc = []",
	"acc.append(np.ones(1 << 18))", "acc.append(np.ones(1 << 18))", "acc.append(np.ones(1 << 18))",
	"acc.append(np.ones(1 << 18))",
	"np.zeros(3 << 17)",
	"import colorsys\ncolorsys.cache = np.ones(1 << 19)",
	"def fail():\n    batch = np.ones(5 << 16)\n    raise ValueError('no')\nfail()",
	"x = np.ones((600, 400))\ny = x.T\nwords = ['a' * 100_000 for _ in range(20)]",
}

// lookTold writes down the results of the companion's calls.
const lookTold = `
def told(call, name):
    found = call(wait=60)
    with open(os.environ["TOLD"] + name, "w") as f:
        json.dump(dict(vars(found), rows=[dict(row._asdict(), change=row.change and row.change._asdict(),
                                               growth=row.growth and row.growth._asdict())
                                          if hasattr(row, "growth") else row._asdict() for row in found]), f)
    print("told" if not found.why else "why: " + found.why)`

// runs runs a cell, for any time.
func (n *notebook) runs(cell string) string {
	n.t.Helper()
	text, _ := json.Marshal(cell)
	if _, err := n.in.Write(append(text, '\n')); err != nil {
		n.t.Fatal(err)
	}
	return strings.Join(n.next().Outputs, "\n")
}

// asksUntil runs a cell until its output has a text: on a busy machine the tracer may not answer in time.
func (n *notebook) asksUntil(cell, want string) (shown string) {
	n.t.Helper()
	for began := time.Now(); time.Since(began) < 10*time.Minute; {
		if shown = n.runs(cell); strings.Contains(shown, want) {
			return shown
		}
		if strings.Contains(shown, "Traceback") || strings.Contains(shown, "Error:") {
			break
		}
	}
	n.t.Fatalf("%q shows %q, want %q", cell, shown, want)
	return ""
}

// readTold reads the results of a look that a notebook wrote down.
func readTold(t *testing.T, path string) (out toldLook) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type toldLook struct {
	Rows      []map[string]any `json:"rows"`
	Why       string           `json:"why"`
	NotJudged [][]any          `json:"not_judged"`
}

// TestLooks compares the notebook's results about its variables and about memory that stays behind with the report and
// `tracer audit` of the same session, to the byte.
func TestLooks(t *testing.T) {
	needModules(t, "numpy")
	env, told := companionAt(t, "/")
	n := startNotebook(t, env)
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, n.pid, "--record", recording)
	n.runs("%load_ext ipytracer\n%tracer off")
	for _, cell := range leaky {
		n.runs(cell)
	}
	n.runs(lookTold)
	for _, call := range []string{"vars", "audit"} {
		n.asksUntil(fmt.Sprintf("told(ipytracer.%s, '.%s')", call, call), "told")
	}
	n.asksUntil("def busy():\n    big = np.ones(7 << 17)\n    told(ipytracer.audit, '.busy')\nbusy()", "told")
	shown, names := n.asksUntil("%tracer audit", "finding"), n.asksUntil("%tracer vars", "made by")
	r, _ := tr.stop()
	audit := auditOf(t, recording)
	sameVerdicts(t, readTold(t, told+".audit"), audit, shown)
	sameVariables(t, readTold(t, told+".vars"), r, names)
	during := readTold(t, told+".busy")
	if got := verdictsOf(during.Rows); !reflect.DeepEqual(got, verdictsOf(readTold(t, told+".audit").Rows)) {
		t.Errorf("with a call that holds an array while it asks: %v", got)
	}
	for name, one := range map[string]toldLook{"audit": readTold(t, told+".audit"), "vars": readTold(t, told+".vars"),
		"busy": during} {
		if one.Why != "" {
			t.Errorf("%s: %s", name, one.Why)
		}
	}
	if i := slices.IndexFunc(during.NotJudged, func(one []any) bool { return one[0] == model.CellRuns }); i < 0 ||
		during.NotJudged[i][2].(float64) < 7<<20 {
		t.Errorf("not judged: %v", during.NotJudged)
	}
}

// auditOf returns the result of `tracer audit` for a recording.
func auditOf(t *testing.T, recording string) *model.Audit {
	t.Helper()
	out, err := exec.Command(binary, "audit", recording, "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	return readAudit(t, out)
}

// verdictsOf returns the kinds and sizes of verdicts.
func verdictsOf(rows []map[string]any) (out []string) {
	for _, v := range rows {
		out = append(out, fmt.Sprintf("%v %v %.0f", v["kind"], v["meter"], v["bytes"]))
	}
	return out
}

// sameVerdicts compares the notebook's results with an audit: every verdict with a holder. Mapped memory continues to
// change.
func sameVerdicts(t *testing.T, told toldLook, a *model.Audit, shown string) {
	t.Helper()
	kinds := map[string]bool{}
	var rows []map[string]any
	for _, v := range told.Rows {
		if v["meter"] != "cpu.mapped" {
			rows = append(rows, v)
		}
	}
	verdicts := slices.DeleteFunc(slices.Clone(a.Verdicts),
		func(v model.Verdict) bool { return v.Meter == "cpu.mapped" })
	if len(rows) != len(verdicts) {
		t.Fatalf("told of %v, the audit has %d verdicts: %+v", verdictsOf(rows), len(verdicts), verdicts)
	}
	for i, v := range verdicts {
		kinds[v.Kind] = true
		text, _ := json.Marshal(v)
		var want map[string]any
		_ = json.Unmarshal(text, &want)
		for _, key := range []string{"kind", "meter", "bytes", "count", "executions", "execution_counts", "evidence",
			"advice", "change"} {
			if !reflect.DeepEqual(rows[i][key], want[key]) {
				t.Errorf("%s: told %v, the audit has %v", key, rows[i][key], want[key])
			}
		}
		if rows[i]["holder"] != v.Holder || rows[i]["fix"] != v.Fix ||
			v.Growth != nil && rows[i]["growth"].(map[string]any)["slope"] != float64(v.Growth.Slope) {
			t.Errorf("told %v, the audit has %+v", rows[i], v)
		}
		for _, said := range []string{v.Evidence, v.Advice} {
			if !strings.Contains(shown, said) {
				t.Errorf("%%tracer audit does not say %q: %s", said, shown)
			}
		}
	}
	for _, kind := range []string{model.RerunGrowth, model.HeldByOutput, model.HeldAfterWindow, model.HeldByTraceback} {
		if !kinds[kind] {
			t.Errorf("nothing is %s: %v", kind, verdictsOf(rows))
		}
	}
}

// sameVariables compares the notebook's results with the list in the report at the end, for names that are the same
// then.
func sameVariables(t *testing.T, told toldLook, r *model.Report, shown string) {
	t.Helper()
	for _, name := range []string{"acc", "x", "words"} {
		was := slices.IndexFunc(told.Rows, func(v map[string]any) bool { return v["name"] == name })
		is := slices.IndexFunc(r.Variables, func(v model.Variable) bool { return v.Name == name })
		if was < 0 || is < 0 {
			t.Errorf("%s is told of: %v, and in the report: %v", name, was >= 0, is >= 0)
			continue
		}
		got, want := told.Rows[was], r.Variables[is]
		if got["bytes"] != float64(want.Bytes) || got["reaches"] != float64(want.Reaches) ||
			got["execution"] != float64(want.Execution) || got["line"] != float64(want.Line) ||
			got["type"] != want.Type || got["exact"] != want.Exact {
			t.Errorf("told %v, the report has %+v", got, want)
		}
		if !strings.Contains(shown, name+" ") {
			t.Errorf("%%tracer vars does not list %s:\n%s", name, shown)
		}
	}
}

// TestLooksEnd: if a tracer is stopped or killed while a notebook waits for a look, the notebook stops waiting. If it
// goes on in time, its answer is shown.
func TestLooksEnd(t *testing.T) {
	needModules(t, "numpy")
	env, _ := companionAt(t, "/")
	n := startNotebook(t, env)
	tr := attach(t, n.pid)
	n.runs("%load_ext ipytracer\n%tracer off\nimport ipytracer, time\nx = bytearray(8 << 20)")
	const ask = "began = time.monotonic(); found = ipytracer.%s(); " +
		"print(round(time.monotonic() - began, 2), len(found), found.why)"
	tr.pause()
	for _, call := range []string{"vars", "audit"} {
		if got := n.runs(fmt.Sprintf(ask, call)); !strings.Contains(got, "has not answered for 1") {
			t.Errorf("of a tracer that is stopped: %s", got)
		}
	}
	if got := n.runs("%tracer audit"); !strings.Contains(got, "has not answered for 1") {
		t.Errorf("of a tracer that is stopped: %s", got)
	}
	later := time.AfterFunc(4*time.Second, func() { _ = tr.cmd.Process.Signal(syscall.SIGCONT) })
	defer later.Stop()
	if got := n.runs("%tracer vars"); !strings.Contains(got, "answers late") || !strings.Contains(got, "\nx ") {
		t.Errorf("of a tracer that goes on after 4 s: %s", got)
	}
	_ = tr.cmd.Process.Kill()
	<-tr.ended
	if got := n.runs(fmt.Sprintf(ask, "audit")); !strings.Contains(got, "no tracer listens") &&
		!strings.Contains(got, "has ended") {
		t.Errorf("of a tracer that was killed: %s", got)
	}
	if got := n.runs("%tracer vars"); !strings.Contains(got, "sudo tracer attach") {
		t.Errorf("of a tracer that was killed: %s", got)
	}
}

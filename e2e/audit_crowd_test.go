package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ipytracer/model"
)

// TestAuditCrowd: Out[], a module, the last exception and a reference cycle hold memory, beside hundreds of thousands
// of small arrays. With the default budget the audit finds it to the line. Where NumPy's probes had to be stepped down
// it finds it by its holder, and gives no all-clear.
func TestAuditCrowd(t *testing.T) {
	require(t)
	for _, c := range []struct {
		name, budget string
		blind        bool
	}{{"default", "3%", false}, {"stepped down", "0.02%", true}} {
		t.Run(c.name, func(t *testing.T) {
			w := startWorkload(t, place{driver: "run_leaks.py"}, []string{"crowd"})
			recorded := filepath.Join(t.TempDir(), "run.arrows")
			// Here the budget decides, not the delay of the tracer on a busy machine: there is room for all changes.
			tr := traced(t, nil, w.pid, "audit", "--budget", c.budget, "--ring", "65536", "--record", recorded)
			results := w.run()
			a := tr.audit(0)
			want := results[len(results)-1].Expect
			stepped := slices.ContainsFunc(a.NotJudged,
				func(n model.NotJudged) bool { return n.Reason == model.SteppedDown && n.Meter == "cpu.numpy" })
			// Because of their number, small arrays are reported as samples. This test looks for large ones, and each
			// of those is reported.
			a.NotJudged = slices.DeleteFunc(a.NotJudged,
				func(n model.NotJudged) bool { return n.Reason == model.SteppedDown && n.Meter == "" })
			if !stepped { // on a busy machine the default budget may be too small, too
				checkVerdicts(t, a, want)
			}
			for _, p := range want {
				if !slices.ContainsFunc(a.Verdicts, func(v model.Verdict) bool {
					return slices.Contains(p.Kinds, v.Kind) && v.Meter == p.Meter && v.Bytes == p.Bytes &&
						v.Advice != ""
				}) {
					t.Errorf("%s: no verdict of %d bytes among %+v", p.Notebook, p.Bytes, a.Verdicts)
				}
			}
			if len(a.Verdicts) != len(want) {
				t.Errorf("%d verdicts, want %d: %+v", len(a.Verdicts), len(want), a.Verdicts)
			}
			status := 0
			if stepped {
				status = 6
			} else if c.blind {
				t.Errorf("all was seen with a budget of %s: %+v", c.budget, a.NotJudged)
			}
			err := exec.Command(binary, "audit", "--quiet", "--fail-over", "100GiB", recorded).Run()
			if got := exitStatus(t, err); got != status {
				t.Errorf("exit status %d, want %d", got, status)
			}
		})
	}
}

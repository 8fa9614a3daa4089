package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ipytracer/model"
)

// grownKernel starts a kernel that runs the cells of a file of testdata/reports before anybody attaches.
func grownKernel(t *testing.T, name string) *workload {
	t.Helper()
	w := startWorkload(t, place{driver: "run_reports.py"}, []string{name})
	w.run()
	w.again("later = 1") // IPython holds the results of the last cell in further places
	return w
}

// TestGrownKernel: attach to a kernel that has grown, end the session without a cell, type what the report says, and
// resident memory is what it says is left.
func TestGrownKernel(t *testing.T) {
	together(t)
	w := grownKernel(t, "grown_kernel")
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, w.pid, "--budget", "off", "--record", recording)
	r, _ := tr.stop()
	if len(r.Accounts) != 1 || r.Accounts[0].At != model.AtEnd || r.Accounts[0].Left() != 0 {
		t.Errorf("accounts: %+v", r.Accounts)
	}
	out, err := exec.Command(binary, "report", recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n\n")
	t.Log("\n" + first)
	of := answersIn(first)
	if !regexp.MustCompile(`^\d+\.\d\d MiB at the end, no more than at the attach: .*100\.00 MiB`).
		MatchString(of["still there"]) {
		t.Errorf("still there: %q", of["still there"])
	}
	leaves := regexp.MustCompile(`→ leaves (\d+\.\d\d) MiB$`).FindStringSubmatch(of["to free it"])
	if leaves == nil {
		t.Fatalf("to free it: %q", of["to free it"])
	}
	whole := residentNow(t, w.pid)
	for _, f := range r.ToFree {
		if !strings.Contains(of["to free it"], f.Type) {
			t.Errorf("%q is not in %q", f.Type, of["to free it"])
		}
		w.fallsBy(f)
	}
	var mib float64
	if _, err := fmt.Sscan(leaves[1], &mib); err != nil {
		t.Fatal(err)
	}
	w.t.Logf("of %.2f MiB were to be left %.2f, and are %.2f", mebibytes(whole), mib,
		mebibytes(residentNow(t, w.pid)))
	if got := mebibytes(residentNow(t, w.pid)); got > mib*1.05+2 || got < mib*0.95-2 {
		t.Errorf("leaves %.2f MiB, and there are %.2f", mib, got)
	}
}

// TestGrownKernelIsAudited: memory from before the audit that a module or a class keeps has a verdict, and typing its
// code gives that memory back; plain variables have none.
func TestGrownKernelIsAudited(t *testing.T) {
	together(t)
	for name, want := range map[string]map[string]int64{
		"grown_kernel": {"Model.cache.clear()": 96 << 20, "import sys\ndel sys.modules['colorsys'].cached": 20 << 20,
			"%xdel _4": 30 << 20},
		"18_lru_cache_method": {"Model.logdet.cache_clear()": 5 * 2000 * 2000 * 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := grownKernel(t, name)
			a := traced(t, nil, w.pid, "audit", "--budget", "off").audit(0)
			if len(a.Verdicts) != len(want) {
				t.Errorf("verdicts: %+v", a.Verdicts)
			}
			for _, v := range a.Verdicts {
				bytes, known := want[v.Fix]
				if !known || v.Bytes < bytes || v.Bytes > bytes+bytes/20 {
					t.Errorf("%d bytes, %q: %s", v.Bytes, v.Fix, v.Evidence)
				}
				w.fallsBy(model.Freeing{Type: v.Fix, Predicted: bytes, Exact: true})
			}
		})
	}
}

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBrokenProbes breaks each probe that windows hang on in turn, in a tracer built for that: where windows are not right the certificate
// is not complete, and says which probe is in doubt.
func TestBrokenProbes(t *testing.T) {
	together(t)
	broken := filepath.Join(t.TempDir(), "broken")
	if out, err := exec.Command("go", "build", "-tags", "broken", "-o", broken, "../cmd/tracer").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		for _, probe := range []string{"", "cell starts", "cell ends", "prompts", "statements"} {
			for _, how := range []string{"absent", "elsewhere"} {
				if probe == "" && how != "absent" {
					continue
				}
				t.Run(strings.Join([]string{driver, probe, how}, "/"), func(t *testing.T) {
					t.Parallel()
					w := startWorkload(t, place{driver: driver}, []string{"pass_first", "comment_only", "multi_line", "await_last", "syntax_error", "interrupted", "last"})
					tr := tracedBy(t, broken, append(os.Environ(), "TRACER_BROKEN="+probe+"="+how), w.pid, "attach")
					w.run()
					r, _ := tr.stop()
					c := r.Certificate
					named := slices.ContainsFunc(c.Problems, func(p string) bool { return strings.Contains(p, probe) })
					t.Logf("complete %v, %d cells, problems %q", c.Complete, len(topCells(r, w.pid)), c.Problems)
					if right := probe == ""; c.Complete != right || !right && !named {
						t.Errorf("complete %v, problems %q", c.Complete, c.Problems)
					}
				})
			}
		}
	}
}

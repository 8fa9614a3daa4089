package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// brokenTracer returns a tracer that is broken as tracer/internal/instruments/broken.go describes, built once for all
// tests.
var brokenTracer = sync.OnceValues(func() (string, error) {
	broken := filepath.Join(suite, "broken")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-tags", "broken", "-o", broken,
		"../cmd/tracer").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return broken, nil
})

// TestBrokenProbes breaks one probe after another of those on which windows depend, in a tracer built for that: where
// windows are not right, the certificate is not complete and names the probe in doubt.
func TestBrokenProbes(t *testing.T) {
	together(t)
	broken, err := brokenTracer()
	if err != nil {
		t.Fatal(err)
	}
	for _, driver := range []string{"run_kernel.py", "run_terminal.py"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			checkBroken(t, broken, driver)
		})
	}
}

// checkBroken attaches a tracer for each way of breaking, and a whole one, to one process: each has its own probes.
func checkBroken(t *testing.T, broken, driver string) {
	t.Helper()
	ways := [][2]string{{"", "absent"}} // no probe is broken
	for _, probe := range []string{"cell starts", "cell ends", "prompts", "statements"} {
		ways = append(ways, [2]string{probe, "absent"}, [2]string{probe, "elsewhere"})
	}
	w := startWorkload(t, place{driver: driver},
		[]string{"pass_first", "comment_only", "multi_line", "await_last", "syntax_error", "interrupted", "last"})
	var traces []*trace
	for _, way := range ways {
		traces = append(traces, tracedBy(t, broken, append(os.Environ(), "TRACER_BROKEN="+way[0]+"="+way[1]), w.pid,
			"attach"))
	}
	w.run()
	for i, way := range ways {
		r, _ := traces[i].stop()
		c := r.Certificate
		named := slices.ContainsFunc(c.Problems, func(p string) bool { return strings.Contains(p, way[0]) })
		t.Logf("%s: complete %v, %d cells, problems %q", way, c.Complete, len(topCells(r, w.pid)), c.Problems)
		if right := way[0] == ""; c.Complete != right || !right && !named {
			t.Errorf("%s: complete %v, problems %q", way, c.Complete, c.Problems)
		}
	}
}

package e2e

import (
	"os/exec"
	"testing"
)

// TestExamples runs each example and compares the output with the committed one.
func TestExamples(t *testing.T) {
	together(t)
	needModules(t, "nbconvert", "nbclient", "pytest")
	for _, name := range []string{"cpu", "experiments", "gpu", "leak-hunt", "pytest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command(python(), "../docs/examples/run.py", "--tracer", binary,
				name).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

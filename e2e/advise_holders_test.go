package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ipytracer/model"
)

// TestAdviseHolders asks for advice about a notebook in which an object, a generator, a tuple and a view hold arrays at
// the highest moment and not at the end: no saving is exact, and none is promised of the array with the view.
func TestAdviseHolders(t *testing.T) {
	w := startWorkload(t, place{driver: "run_reports.py"}, []string{"48_holder_gone_at_end"})
	recording := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, w.pid, "--record", recording)
	w.run()
	tr.stop()
	out, err := exec.Command(binary, "advise", "--quiet", "--format", "json", recording).Output()
	var a model.Advice
	if err != nil || json.Unmarshal(out, &a) != nil || a.At == nil || a.Exact != true {
		t.Fatalf("%v\n%s", err, out)
	}
	deleted := 0
	for _, item := range a.Items {
		if item.Accuracy == model.SavesExact || item.Kind == "delete" && slices.Contains(item.Names, "d") {
			t.Errorf("%s %v: %s", item.Kind, item.Names, item.Accuracy)
		}
		if item.Kind == "delete" {
			deleted++
			if item.Accuracy != model.SavesGuess || len(item.Unknown) == 0 {
				t.Errorf("%+v", item)
			}
		}
	}
	if deleted == 0 {
		t.Errorf("no advice to delete:\n%s", out)
	}
}

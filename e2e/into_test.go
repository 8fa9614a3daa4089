package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// executed is a notebook with the figures of its cells.
type executed struct {
	Cells []struct {
		Metadata struct {
			Ipytracer struct {
				Execution int
				Meters    map[string]struct{ Peak, Need int64 }
			}
		}
		Outputs []struct{ Metadata map[string]any }
	}
}

// TestIntoAnExecutedNotebook: the figures of a session that nbconvert ran go into the notebook that it wrote, equal
// those of the JSON, and nbconvert keeps them, also for cells with the same source.
func TestIntoAnExecutedNotebook(t *testing.T) {
	together(t)
	needModules(t, "nbconvert", "nbclient")
	cells := []string{"import numpy as np\nkept = np.ones(3_000_000)", "print('twice')", "print('twice')"}
	recorded := recordNotebook(t, cells)
	notebook := filepath.Join(t.TempDir(), "executed.ipynb")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(recorded), "out.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(notebook, text, 0o644); err != nil {
		t.Fatal(err)
	}
	into := exec.Command(binary, "report", recorded, "--into", notebook, "--into-output")
	if out, err := into.CombinedOutput(); err != nil || !strings.Contains(string(out), "3 of 3 cells") {
		t.Fatalf("%v\n%s", err, out)
	}
	converted := filepath.Join(filepath.Dir(notebook), "converted.ipynb")
	convert := exec.Command(python(), "-m", "nbconvert", "--to", "notebook", notebook, "--output", converted)
	if out, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	figures := filepath.Join(filepath.Dir(notebook), "run.json")
	print := exec.Command(binary, "report", recorded, "--format", "json", "-o", figures)
	if out, err := print.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := readReport(t, figures)
	var nb executed
	if data, err := os.ReadFile(converted); err != nil || json.Unmarshal(data, &nb) != nil || len(nb.Cells) != 3 {
		t.Fatalf("%v: %s", err, data)
	}
	compared := 0
	for i, c := range nb.Cells {
		for _, w := range r.Windows {
			if w.Kind != model.Cell || w.Execution != c.Metadata.Ipytracer.Execution {
				continue
			}
			compared++
			for id, f := range c.Metadata.Ipytracer.Meters {
				if want, _ := w.Together(id); f.Peak != want.Peak || f.Need != want.Need() {
					t.Errorf("cell %d, %s: %+v, not %+v", i, id, f, want)
				}
			}
		}
		if last := c.Outputs[len(c.Outputs)-1]; last.Metadata["ipytracer"] == nil {
			t.Errorf("cell %d has no table", i)
		}
	}
	if compared != 3 {
		t.Errorf("%d cells were compared", compared)
	}
}

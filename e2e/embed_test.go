package e2e

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// embedding are the Pythons that differ most in their frames and in the way a cell's beginning is seen.
var embedding = [][2]string{{"bullseye", "/usr/bin/python3.9"}, {"sid", "/usr/bin/python3.15"}}

// TestEmbeddedShell: the cells of IPython.embed() are windows that end at their results, with the numbers of their own
// shell. Code of the program after the last cell does not count for it.
func TestEmbeddedShell(t *testing.T) {
	together(t)
	onPythons(t, "run_embed.py", embedding, func(t *testing.T, p place) {
		cells, r := embedded(t, p)
		exit := slices.IndexFunc(cells, func(c model.Window) bool { return c.Source == "exit" })
		if f := cells[exit].Meters["cpu.numpy"]; f.Need() != 0 {
			t.Errorf("exit: %+v", f)
		}
		if f := r.Between[exit+1].Meters["cpu.numpy"]; f.Consumed < 64<<20 {
			t.Errorf("between the shells: %+v", f)
		}
	})
}

// TestShellWithinACell: IPython.embed() in a cell of a terminal. Its cells are that cell's children, and the prompt of
// the inner shell is no sign that the outer cell is over.
func TestShellWithinACell(t *testing.T) {
	together(t)
	onPythons(t, "run_embed.py", embedding, func(t *testing.T, p place) {
		p.extra = append(p.extra, "--in-cell")
		cells, _ := embedded(t, p)
		outer := 0
		for _, c := range cells {
			if c.Source != "kept = work()" {
				continue
			}
			outer++
			if f := c.Meters["cpu.numpy"]; f.Need() < 8<<20 {
				t.Errorf("the cell around a shell: %+v", f)
			}
		}
		if outer != 2 {
			t.Errorf("%d cells around a shell", outer)
		}
	})
}

// embedded runs the workload and compares every cell with its input and output.
func embedded(t *testing.T, p place) ([]model.Window, *model.Report) {
	t.Helper()
	_, results, r := tracedWorkload(t, p, "--budget", "off")
	var cells []model.Window
	for _, c := range r.Windows {
		if c.Kind == model.Cell {
			cells = append(cells, c)
		}
	}
	if len(cells) != len(results) {
		t.Fatalf("%d cells typed, %d windows: %q", len(results), len(cells), sources(cells))
	}
	around := 0 // the cell that opened the shell
	for i, c := range cells {
		want := results[i]
		typed := strings.TrimSuffix(c.Source, "\n") // a prompt may require another line
		if typed != want.Source || c.Silent || c.ExecutionCount == nil || *c.ExecutionCount != *want.ExecutionCount {
			t.Errorf("%q: In[%v] silent %v, want %q In[%d]", c.Source, show(c.ExecutionCount), c.Silent, want.Source,
				*want.ExecutionCount)
		}
		parent := r.Windows[0].ID
		if want.Embedded && around > 0 {
			parent = around
		}
		if c.Parent != parent {
			t.Errorf("%q lies in window %d, want %d", c.Source, c.Parent, parent)
		}
		if strings.HasPrefix(c.Source, "kept") {
			around = c.ID
			continue
		}
		if c.Status != want.Status {
			t.Errorf("%q: %s %q, want %s", c.Source, c.Status, c.Note, want.Status)
		}
	}
	if checkCertificate(t, r); !r.Certificate.Complete {
		t.Errorf("not complete: %q", r.Certificate.Problems)
	}
	return cells, r
}

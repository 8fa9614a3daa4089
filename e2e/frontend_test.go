package e2e

import (
	"io"
	"os/exec"
	"testing"

	"ipytracer/model"
)

// TestCellsWithoutFrontEnd: a script that runs cells itself gets windows that end at their results, whatever it does
// with signals and event loops: none of its own work counts for a cell.
func TestCellsWithoutFrontEnd(t *testing.T) {
	together(t)
	const script = `
import asyncio, signal, sys
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
sys.stdin.readline()
shell.run_cell("x = 1")
block = np.ones(8 << 20)
asyncio.run(asyncio.sleep(0))
shell.run_cell("%time x = 2")
block = np.ones(16 << 20)
signal.signal(signal.SIGINT, signal.SIG_IGN)
block = np.ones(32 << 20)
signal.signal(signal.SIGINT, signal.default_int_handler)
shell.run_cell("x = 3")
block = np.ones(64 << 20)
shell.run_cell("1 / 0")
block = np.ones(8 << 20)
`
	cmd := exec.Command(python(), "-c", script)
	in, _ := startPiped(t, cmd)
	tr := attach(t, cmd.Process.Pid, "--budget", "off")
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	cells := topCells(r, cmd.Process.Pid)
	if len(cells) != 4 {
		t.Fatalf("%d cells: %q", len(cells), sources(cells))
	}
	for i, c := range cells {
		want := []string{model.OK, model.OK, model.OK, model.Error}[i]
		if f := c.Meters["cpu.numpy"]; c.Status != want || f.Need() != 0 || f.Consumed != 0 {
			t.Errorf("%q: %s %q, numpy %+v", c.Source, c.Status, c.Note, f)
		}
	}
	for _, w := range r.Windows {
		if w.Name == model.Hooks {
			t.Errorf("a row of hooks: %+v", w)
		}
	}
	last := r.Between[len(r.Between)-1].Meters["cpu.numpy"]
	if len(r.Between) != 5 || last.Start != 512<<20 || last.Peak < 576<<20 {
		t.Errorf("between: %d, the last %+v", len(r.Between), last)
	}
}

// TestShellThatIsLeft: the cell that leaves a shell ends at its result. Later code of the program does not count for
// the cell.
func TestShellThatIsLeft(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_embedded.py"}, nil)
	tr := attach(t, w.pid, "--budget", "off")
	w.run()
	r, _ := tr.wait(0)
	cells := topCells(r, w.pid)
	if len(cells) != 2 || cells[1].Source != "exit()" {
		t.Fatalf("cells: %q", sources(cells))
	}
	first, exit := cells[0], cells[1]
	if f := first.Meters["cpu.numpy"]; f.Consumed < 8<<20 || first.Note != "" || first.Status != model.OK {
		t.Errorf("the first: %s %q %+v", first.Status, first.Note, f)
	}
	if f := exit.Meters["cpu.numpy"]; f.Need() != 0 || exit.Status != model.OK || exit.Note == "" {
		t.Errorf("exit: %s %q %+v", exit.Status, exit.Note, f)
	}
	if f := r.Between[len(r.Between)-1].Meters["cpu.numpy"]; f.Peak < 64<<20 {
		t.Errorf("behind it: %+v", f)
	}
}

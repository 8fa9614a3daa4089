package e2e

import (
	"slices"
	"testing"
)

// TestPlainEvalIsNoStatement: eval() of code that is no coroutine costs one hit, and eval() of a text none; statements
// of a cell are still seen.
func TestPlainEvalIsNoStatement(t *testing.T) {
	require(t)
	const rounds = 5000
	pid, r := tracedCell(t, `code = compile("1", "<text>", "eval")
for _ in range(5000): eval(code); eval("1")
import asyncio
seen = await asyncio.sleep(0, bytearray(8 << 20))
eval(code)`, "--budget", "off")
	cells := topCells(r, pid)
	if len(cells) != 1 {
		t.Fatalf("%d cells", len(cells))
	}
	var lines []int
	for _, w := range statementsOf(r, cells[0]) {
		lines = append(lines, w.Line)
		if f := w.Meters["cpu.mapped"]; w.Line == 4 && (!f.Exact || f.Peak-f.Start < 8<<20) {
			t.Errorf("the statement that awaits: %+v", f)
		}
	}
	if !slices.Equal(lines, []int{1, 2, 3, 4, 5}) {
		t.Errorf("statements in lines %v", lines)
	}
	found := false
	for _, p := range r.Certificate.Probes {
		if p.Name != "statements" {
			continue
		}
		found = true
		if p.Hits < rounds || p.Hits > rounds+500 { // the rest are hits of modules and of the cell itself
			t.Errorf("%d evals: %d hits at %s", rounds, p.Hits, p.Site)
		}
	}
	if !found {
		t.Errorf("no probe of statements: %+v", r.Certificate.Probes)
	}
}

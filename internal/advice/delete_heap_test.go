package advice

import (
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

// TestArraysInMallocsHeapAreAGuess: where a block of about their size was freed before, arrays of less than 32 MiB lie
// in malloc's heap. The saving is a guess then, and there is no advice about fewer bytes than that. Larger arrays are
// not affected, nor arrays that come before any was freed.
func TestArraysInMallocsHeapAreAGuess(t *testing.T) {
	session := func(freed, size, count int64) *notebook.Notebook {
		first := advicetest.Step{Line: 1, Peak: 40, End: 20, Blocks: []advicetest.Blocks{
			{Made: 20, Kept: 20, Live: 20}, {Made: freed, Calls: []advicetest.Call{{Function: "f", File: "/f.py"}}}}}
		total := size * count
		second := advicetest.Step{Line: 2, Peak: total, End: total,
			Blocks: []advicetest.Blocks{{Made: total, Kept: total, Live: total, Count: count}}}
		number := model.Variable{Name: "b", Kind: "variable", Type: "numpy.float64"}
		return advicetest.Notebook([]model.Variable{advicetest.Variable("raw", total, 1, 2), number},
			advicetest.Cell{Source: "f()\nraw = read()", Steps: []advicetest.Step{first, second}},
			advicetest.Cell{Source: "b = raw[0]", Steps: []advicetest.Step{{Line: 1}}},
			advicetest.Cell{Source: "c = g(b)", Steps: []advicetest.Step{
				{Line: 1, Peak: 300, End: 1, Blocks: []advicetest.Blocks{{Made: 300, Kept: 1, Live: 300},
					advicetest.Still(1, 1, 20), advicetest.Still(1, 2, total)}}}})
	}
	deleted := func(saves int64, accuracy string) expected {
		return expected{"delete", "raw", accuracy, saves, []string{"b = raw[0]\ndel raw"}}
	}
	for _, c := range []struct {
		freed, size, count int64
		want               expected
	}{
		{0, 30, 1, deleted(30, model.SavesExact)}, {4, 30, 1, deleted(30, model.SavesExact)}, {10, 30, 1, none},
		{10, 30, 4, deleted(120, model.SavesGuess)}, {10, 40, 1, deleted(40, model.SavesExact)},
		{100, 30, 1, deleted(30, model.SavesExact)}, // that one was never in the heap
	} {
		t.Logf("%d MiB freed, %d of %d MiB", c.freed, c.count, c.size)
		check(t, session(c.freed, c.size, c.count), c.want)
	}
}

// TestTensorsOfAGraphAreAGuess: tensors that others were made of may be held by PyTorch's graph, so the saving is a
// guess; it is exact where the results are gone by then.
func TestTensorsOfAGraphAreAGuess(t *testing.T) {
	const torch = "cpu.torch"
	for results, accuracy := range map[int64]string{40: model.SavesGuess, 0: model.SavesExact} {
		n := advicetest.Notebook([]model.Variable{advicetest.Variable("raw", 50, 1, 1)},
			advicetest.Cell{Source: "raw = load()", Steps: []advicetest.Step{{Line: 1, Peak: 50, End: 50,
				Blocks: []advicetest.Blocks{{Made: 50, Kept: 50, Live: 50, Meter: torch}}}}},
			advicetest.Cell{Source: "loss = (raw ** 2).sum()", Steps: []advicetest.Step{{Line: 1, Peak: 40,
				End: results, Blocks: []advicetest.Blocks{{Made: 40, Kept: results, Live: 40, Meter: torch},
					{Live: 50, Cell: 1, Line: 1, Meter: torch}}}}},
			advicetest.Cell{Source: "c = g(loss)", Steps: []advicetest.Step{{Line: 1, Peak: 300, End: 1,
				Blocks: []advicetest.Blocks{{Made: 300, Kept: 1, Live: 300, Meter: torch},
					{Live: 50, Cell: 1, Line: 1, Meter: torch}, {Live: results, Cell: 2, Line: 1, Meter: torch}}}}})
		deleted := []string{"loss = (raw ** 2).sum()\ndel raw"}
		check(t, n, expected{"delete", "raw", accuracy, 50, deleted})
	}
}

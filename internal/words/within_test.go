package words

import (
	"testing"

	"ipytracer/model"
)

// TestWithin: a compound statement has the line in it that made most of the memory, and a statement of one line has
// none.
func TestWithin(t *testing.T) {
	cell := &model.Window{Execution: 5, Source: "try:\n    big = f()\nexcept E:\n    pass\nlast = g()"}
	compound := model.Window{Line: 1, Meters: map[string]model.Figure{"cpu.resident": {Start: 10, Peak: 110}}}
	next := model.Window{Line: 5, Meters: compound.Meters}
	of := func(meter string, execution, line int, bytes int64) model.Allocation {
		return model.Allocation{Meter: meter, AtPeak: bytes, Stack: []model.Frame{{Function: "f", Line: 1},
			{Function: "<module>", Execution: execution, Line: line}}}
	}
	const rss = "cpu.resident"
	both := []model.Window{compound, next}
	for _, c := range []struct {
		there    []model.Allocation
		of       []model.Window
		line, is string
	}{
		{[]model.Allocation{of(rss, 5, 2, 50)}, both, "line 2 (most of it)", "big = f()"},
		{[]model.Allocation{of(rss, 5, 2, 49)}, both, "", ""},
		{[]model.Allocation{of("cpu.numpy", 5, 2, 90), of(rss, 4, 2, 90)}, []model.Window{compound}, "", ""},
		{[]model.Allocation{of(rss, 5, 5, 90)}, both, "", ""},
		{[]model.Allocation{of(rss, 5, 5, 90)}, []model.Window{next}, "", ""},
		{[]model.Allocation{of(rss, 5, 9, 90), {Meter: rss, AtPeak: 90}}, []model.Window{next}, "", ""},
	} {
		if line, is := Within(cell, c.of, c.there, "cpu.resident"); line != c.line || is != c.is {
			t.Errorf("%+v: %q, %q", c.there, line, is)
		}
	}
	magic := &model.Window{Execution: 5, Source: "%%time\nfor i in x:\n    f()"}
	if line, _ := Within(magic, []model.Window{compound}, []model.Allocation{of(rss, 5, 3, 90)},
		"cpu.resident"); line != "" {
		t.Errorf("a cell magic: %q", line)
	}
}

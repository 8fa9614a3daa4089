package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report"
)

// tellAll is a cell that writes down all of the notebook's figures of its cells and experiments: windows, and the
// allocating code in them.
const tellAll = `
import json, os
def told():
    cells = list(ipytracer.cells())
    windows = cells + [e.result.window for e in (fit, gpu_fit)]
    with open(os.environ["TOLD"], "w") as f:
        json.dump({"cells": len(cells), "windows": [w.to_dict() for w in windows],
                   "lines": {w.id: [dict(l._asdict(), stack=[f._asdict() for f in l.stack])
                                    for l in ipytracer.lines(w)] for w in windows}}, f)
told()`

var sameCells = []string{
	"import numpy as np, gpu\ngpu.cu.use(0)",
	"def fill(n):\n    a = np.ones(n)\n    b = a * 2\n    return b\nx = fill(1 << 20)\n" +
		"y = [np.zeros(1 << 15) for _ in range(8)]\ndel y[::2]",
	"a = gpu.cu.alloc(256 << 20); b = gpu.cu.alloc(64 << 20)\ngpu.cu.free(a)",
	"with ipytracer.experiment('fit') as fit:\n    z = fill(1 << 21)\n    w = fill(1 << 18)",
	"gpu_fit = ipytracer.experiment('on the GPU', keep=('c',))\nwith gpu_fit:\n" +
		"    c = gpu.cu.alloc(128 << 20); d = gpu.cu.alloc(32 << 20); gpu.cu.free(d)",
	"1/0",
	"for i in range(3):\n    x = fill(1 << (16 + i))\nimport os\nos.getpid()",
}

type toldAll struct {
	Cells   int              `json:"cells"`
	Windows []map[string]any `json:"windows"`
	Lines   map[int][]struct {
		Meter                                 string
		At_peak, Allocated, Freed, Net, Count int64
		Stack                                 []struct {
			Function, File string
			Line           int
			Execution      int
		}
	} `json:"lines"`
}

// TestSameFigures compares the notebook's figures of cells and experiments, and of the allocating code in them, arrays
// and GPUs, with the report, and with the recording when it is read again: to the byte.
func TestSameFigures(t *testing.T) {
	together(t)
	env, path := companionAt(t, "/")
	n := startNotebook(t, joined(env, standIn(t, 1)))
	recorded := filepath.Join(t.TempDir(), "same.arrows")
	tr := attach(t, n.pid, "--budget", "off", "--record", recorded)
	n.run("%load_ext ipytracer\nimport ipytracer\nipytracer._line.ASKED_FOR = 60.0") // wait for late answers
	for _, cell := range sameCells {
		n.asks(cell)
	}
	n.run(tellAll)
	r, live := tr.stop()
	again, err := exec.Command(binary, "report", "--format", "json", recorded).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(live, again) {
		t.Errorf("live and replayed reports differ: %d and %d bytes", len(live), len(again))
	}
	replayed, err := report.ReadJSON(again)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal("the notebook was told nothing: ", err)
	}
	for name, r := range map[string]*model.Report{"live": r, "replayed": replayed} {
		var told toldAll
		if err := json.Unmarshal(text, &told); err != nil {
			t.Fatal(err)
		}
		if told.Cells != len(sameCells)+1 || len(told.Windows) != told.Cells+2 {
			t.Errorf("%s: told of %d cells, %d windows", name, told.Cells, len(told.Windows))
		}
		lines := 0
		for _, w := range told.Windows {
			lines += sameLines(t, told, w, r)
			sameWindow(t, w, r)
		}
		if lines < 12 {
			t.Errorf("%s: only %d lines were compared", name, lines)
		}
		madeThat(t, r)
	}
}

// madeThat checks that a report has the figures that the cells of the test must produce.
func madeThat(t *testing.T, r *model.Report) {
	t.Helper()
	for source, want := range map[string]map[string]int64{
		"a = gpu.cu.alloc": {"gpu.0.driver": 320 << 20}, "on the GPU": {"gpu.0.driver": 160 << 20},
		"fit": {"cpu.numpy": 32 << 20},
	} {
		i := slices.IndexFunc(r.Windows, func(w model.Window) bool {
			return w.Name == source || w.Kind == "cell" && strings.HasPrefix(w.Source, source)
		})
		for meter, need := range want {
			if i < 0 || r.Windows[i].Meters[meter].Need() < need {
				t.Errorf("%q needs too little of %s", source, meter)
			}
		}
	}
}

// sameLines compares the allocating code in a window with the report's allocations, and returns the number of compared
// ones.
func sameLines(t *testing.T, told toldAll, w map[string]any, r *model.Report) int {
	t.Helper()
	id := int(w["id"].(float64))
	i := slices.IndexFunc(r.Windows, func(o model.Window) bool { return int(o.ID) == id })
	if i < 0 {
		return 0
	}
	var want, got []model.Allocation
	count := map[string]int{}
	for _, a := range r.Windows[i].Allocations {
		// the line has this many (docs/line.md), and as many calls
		if count[a.Meter]++; count[a.Meter] > 50 || a.Meter == "cpu.resident" {
			continue
		}
		var stack []model.Frame
		for _, f := range a.Stack[:min(len(a.Stack), 16)] {
			stack = append(stack, model.Frame{Function: f.Function, File: f.File, Line: f.Line, Execution: f.Execution})
		}
		a.Stack, a.StackTruncated, a.Sampled = stack, false, false // the line says so in a text
		want = append(want, a)
	}
	for _, l := range told.Lines[id] {
		a := model.Allocation{Meter: l.Meter, Allocated: l.Allocated, Freed: l.Freed, Net: l.Net, AtPeak: l.At_peak,
			Count: l.Count}
		for _, f := range l.Stack {
			a.Stack = append(a.Stack, model.Frame{Function: f.Function, File: f.File, Line: f.Line,
				Execution: f.Execution})
		}
		got = append(got, a)
	}
	if len(got) != len(want) {
		t.Errorf("window %d: told of %d lines, the report has %d", id, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("window %d: told of\n%+v\nthe report has\n%+v", id, got[i], want[i])
			break
		}
	}
	return len(got)
}

package advice

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

// made is the memory of one stack in the statement that is the highest: so many blocks of one size, of which some live
// at the peak, and some outlive the statement. Stack has the innermost call first, "function file line" for PyTorch's
// files and "line" for those of cell 2.
type made struct {
	stack            string
	size             int64
	count, live, net int64
}

// trained returns a session of two cells. The second has one statement on the given line with a peak of 1 GiB.
func trained(line int, first, second string, meter string, all ...made) *notebook.Notebook {
	one := 1
	two := 2
	w := model.Window{ID: 3, Kind: model.Cell, PID: 7, Execution: 2, ExecutionCount: &two, Source: second}
	w.Meters = map[string]model.Figure{"cpu.resident": {Start: 100 * mib, Peak: 1 << 30, End: 100 * mib}}
	if meter != "cpu.torch" {
		w.Meters = map[string]model.Figure{meter: {Start: 100 * mib, Peak: 1 << 30, End: 100 * mib}}
	}
	w.Coverage = map[string]model.Coverage{meter: {}}
	for _, m := range all {
		w.Allocations = append(w.Allocations, model.Allocation{Meter: meter, Stack: stackOf(m.stack),
			Allocated: m.size * m.count, Freed: m.size * (m.count - m.net), Net: m.size * m.net,
			AtPeak: m.size * m.live, Count: m.count})
	}
	s := w
	s.ID, s.Parent, s.Kind, s.Line, s.Execution, s.ExecutionCount, s.Source = 4, 3, model.Statement, line, 0, nil, ""
	r := &model.Report{Windows: []model.Window{
		{ID: 1, Kind: model.Session, PID: 7},
		{ID: 2, Kind: model.Cell, PID: 7, Execution: 1, ExecutionCount: &one, Source: first,
			Meters: map[string]model.Figure{"cpu.resident": {Start: 90 * mib, Peak: 100 * mib, End: 100 * mib}}},
		w, s}}
	judged := "cpu.resident"
	if meter != "cpu.torch" {
		judged = meter
	}
	return notebook.Read(r, notebook.Options{Meter: judged, PID: 7})
}

func stackOf(text string) (all []model.Frame) {
	for _, call := range strings.Split(text, " < ") {
		fields := strings.Fields(call)
		line := 0
		for _, c := range fields[len(fields)-1] {
			line = 10*line + int(c-'0')
		}
		f := model.Frame{Function: "<module>", File: "cell.py", Line: line, Execution: 2}
		if len(fields) == 3 {
			f = model.Frame{Function: fields[0], File: "/usr/lib/python3/dist-packages/torch/" + fields[1], Line: line}
		}
		all = append(all, f)
	}
	return all
}

// Calls of PyTorch 1.13.
const (
	linear = "Linear.forward nn/modules/linear.py 114 < Module._call_impl nn/modules/module.py 1194 < "
	relu   = "relu nn/functional.py 1457 < Module._call_impl nn/modules/module.py 1194 < " +
		"Sequential.forward nn/modules/container.py 204 < "
	goesBack = "backward autograd/__init__.py 197 < Tensor.backward _tensor.py 488 < "
	steps    = "_multi_tensor_adamw optim/adamw.py 420 < adamw optim/adamw.py 290 < "
)

const imports = "import torch\nfrom torch import nn\n"

// only returns the only candidate of a rule; nil if there is none.
func only(t *testing.T, rule notebook.Rule, n *notebook.Notebook) *notebook.Candidate {
	t.Helper()
	switch all := rule(n); len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	default:
		t.Fatalf("%d candidates: %v", len(all), all)
		return nil
	}
}

// wants checks a candidate's saving and the source of the second cell with its edits.
func wants(t *testing.T, n *notebook.Notebook, c *notebook.Candidate, kind string, falls int64, source string) {
	t.Helper()
	if c == nil {
		t.Fatal("no candidate")
	}
	if c.Kind != kind || c.Falls(n.Peak) != falls || c.Title == "" || len(c.Changes) == 0 {
		t.Errorf("kind %s, falls by %d MiB, %q, changes %q; want %s, %d MiB", c.Kind, c.Falls(n.Peak)/mib, c.Title,
			c.Changes, kind, falls/mib)
	}
	edits := slices.DeleteFunc(slices.Clone(c.Edits), func(e model.AdviceEdit) bool { return e.Execution != 2 })
	if got := strings.Join(advicetest.Lines(n.Cells[1].Lines, edits), "\n"); got != source {
		t.Errorf("the cell is then\n%s\nwant\n%s", got, source)
	}
}

func TestNoGrad(t *testing.T) {
	const source = "total = 0\nfor x in batches:\n    total += loss(net(x), x)\nprint(total)"
	five := made{relu + "3", 40 * mib, 5, 5, 5}
	n := trained(2, imports, source, "cpu.torch", five)
	wants(t, n, only(t, gradients, n), "no-grad", 3*40*mib,
		"total = 0\nwith torch.no_grad():\n    for x in batches:\n        total += loss(net(x), x)\nprint(total)")
	const loop = "total = 0\nfor x in batches:\n    total += loss(net(x), x)\n"
	for name, healthy := range map[string]string{
		"backward later":      loop + "total.backward()",
		"backward in it":      "total = 0\nfor x in batches:\n    loss(net(x), x).backward()\n",
		"gradients are off":   "with torch.no_grad():\n  for x in batches:\n    total += loss(net(x), x)\n",
		"of an alias":         loop + "all = [total]\nall[0].backward()",
		"in a function's arg": loop + "def f(a): a.backward()\nf(total)",
		"autograd.grad":       loop + "torch.autograd.grad(total, x)",
	} {
		if c := only(t, gradients, trained(2, imports, healthy, "cpu.torch", five)); c != nil {
			t.Errorf("%s: %s %v", name, c.Title, c.Edits)
		}
	}
	n = trained(2, imports, loop+"total = total.item()\nloss(net(x), x).backward()", "cpu.torch", five)
	if only(t, gradients, n) == nil {
		t.Error("another backward pass counts")
	}
	n = trained(1, "", source, "cpu.torch", five)
	if c := only(t, gradients, n); c != nil {
		t.Errorf("without an import: %v", c.Edits)
	}
}

func TestNoGradOfFunction(t *testing.T) {
	const source = "def evaluate(net, data):\n    out = net(data)\n    return out.mean().item()\nevaluate(net, data)"
	n := trained(4, imports, source, "cpu.torch", made{relu + "2 < 4", 40 * mib, 5, 5, 0})
	wants(t, n, only(t, gradients, n), "no-grad", 3*40*mib, "@torch.no_grad()\n"+source)
	returned := strings.Replace(source, ".item()", "", 1) + ".backward()"
	n = trained(4, imports, returned, "cpu.torch", made{relu + "2 < 4", 40 * mib, 5, 5, 0})
	if c := only(t, gradients, n); c != nil {
		t.Errorf("what it returns goes backward: %v", c.Edits)
	}
}

func TestDetachOfLosses(t *testing.T) {
	const source = "for x in batches:\n    y = net(x)\n    loss(y, x).backward()\n" +
		"    errors.append((y - x).abs().mean())"
	all := []made{{"4", 40 * mib, 10, 4, 5}, {linear + "2", 40 * mib, 5, 1, 1}}
	n := trained(1, imports, source, "cpu.torch", all...)
	wants(t, n, only(t, keptGraphs, n), "detach", 4*40*mib, strings.Replace(source, "mean())", "mean().detach())", 1))
	for name, healthy := range map[string]string{
		"item":             strings.Replace(source, "mean())", "mean().item())", 1),
		"backward of them": source + "\ntorch.stack(errors).sum().backward()",
		"no loop":          strings.Replace(source, "for x in batches", "if x", 1),
		"detached":         strings.Replace(source, "mean())", "mean().detach())", 1),
		"gradients are off": "for x in batches:\n  with torch.no_grad():\n    y = net(x)\n" +
			"    errors.append((y - x).abs().mean())",
	} {
		if c := only(t, keptGraphs, trained(1, imports, healthy, "cpu.torch", all...)); c != nil {
			t.Errorf("%s: %v", name, c.Edits)
		}
	}
	n = trained(1, imports, strings.Replace(source, "errors.append((y - x).abs().mean())", "total += -y.std()", 1),
		"cpu.torch", all...)
	if c := only(t, keptGraphs, n); c == nil || c.Edits[0].Text != "    total += (-y.std()).detach()" {
		t.Errorf("of a sum: %v", c)
	}
	if c := only(t, keptGraphs, trained(1, imports, source, "cpu.torch", made{"4", 40 * mib, 10, 1, 0})); c != nil {
		t.Errorf("nothing is kept: %v", c.Edits)
	}
}

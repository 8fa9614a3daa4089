package freeing

import (
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

const mebi = 1 << 20

// owner returns an owner with names in the notebook.
func owner(variable int32, names ...string) event.Owner {
	return event.Owner{Kind: event.HeldByVariable, Variable: variable, Names: names}
}

// released returns an owner that is let go of in another way than by its names.
func released(variable int32, how event.Release, names ...string) event.Owner {
	o := owner(variable, names...)
	o.Kind, o.Release = event.HeldByModule, how
	return o
}

// tool returns an owner that a notebook goes on needing.
func tool(variable int32, kind event.Tool, names ...string) event.Owner {
	o := owner(variable, names...)
	o.Tool = kind
	return o
}

func share(mebibytes, cyclic event.Bytes, owners ...int32) event.Share {
	return event.Share{Owners: owners, Bytes: mebibytes * mebi, Cyclic: cyclic * mebi, Exact: true}
}

// listed returns a look at owners, and last the owner of garbage that waits for the collector; their variables are a,
// b, c …
func listed(shares []event.Share, owners ...event.Owner) *event.Variables {
	e := &event.Variables{PID: 7, Complete: true, Shares: shares,
		Owners: append(owners, event.Owner{Kind: event.HeldByCycle, Variable: -1})}
	for i, o := range owners {
		e.Variables = append(e.Variables, event.Variable{Name: string(rune('a' + i)), Kind: o.Kind})
	}
	return e
}

// reaching has the first variable lead to more memory than it holds.
func reaching(e *event.Variables, reaches, bytes event.Bytes) *event.Variables {
	e.Variables[0].Reaches, e.Variables[0].Bytes = reaches, bytes
	return e
}

// TestFreeing checks the code for each way of sharing, and the bytes that it frees.
func TestFreeing(t *testing.T) {
	for name, test := range freeings {
		for i := range test.want {
			test.want[i].PID, test.want[i].Exact = 7, true
		}
		got := Of(test.of)
		same := func(a, b model.Freeing) bool {
			return a.Type == b.Type && a.Predicted == b.Predicted && a.Device == b.Device && a.Shared == b.Shared &&
				a.Exact == b.Exact && a.PID == b.PID && slices.Equal(a.Names, b.Names)
		}
		if !slices.EqualFunc(got, test.want, same) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, test.want)
		}
	}
}

// freeingCase has the memory of a process by name, and the code that frees it.
type freeingCase struct {
	of   *event.Variables
	want []model.Freeing
}

// Owners of several cases.
var (
	output = event.Owner{Kind: event.HeldByOutput, Variable: 1, Output: "_2", Kept: true}
	newest = event.Owner{Kind: event.HeldByOutput, Variable: 0, Output: "_9", Kept: true, Last: true}
	failed = event.Owner{Kind: event.HeldByTraceback, Variable: 0}
)

const (
	collects  = "import gc; gc.collect();"
	errorGone = LastErrorGone
)

var freeings = map[string]freeingCase{
	"alone, in one line": {listed([]event.Share{share(5, 0, 0), share(3, 0, 1), share(8, 0, 2)}, owner(0, "x"),
		owner(1, "y", "also"), owner(2, "z")),
		[]model.Freeing{{Type: "del z, x, y, also", Predicted: 16 * mebi, Names: []string{"c", "a", "b"}}}},
	"too many for one line": {listed([]event.Share{share(5, 0, 0), share(4, 0, 1), share(3, 0, 2), share(2, 0, 3),
		share(1, 0, 4)},
		owner(0, "u"), owner(1, "v"), owner(2, "w"), owner(3, "x"), owner(4, "y")),
		[]model.Freeing{{Type: "del u, v, w, x", Predicted: 14 * mebi, Names: []string{"a", "b", "c", "d"}},
			{Type: "del y", Predicted: 1 * mebi, Names: []string{"e"}}}},
	"an output holds it as well": {listed([]event.Share{share(183, 0, 0, 1), share(1, 0, 0)}, owner(0, "df"),
		output),
		[]model.Freeing{{Type: "del df; get_ipython().del_var('_2')", Predicted: 184 * mebi,
			Names: []string{"a", "b"}, Shared: 183 * mebi}}},
	"an output alone": {listed([]event.Share{share(9, 0, 1)}, owner(0, "x"), output),
		[]model.Freeing{{Type: "%xdel _2", Predicted: 9 * mebi, Names: []string{"b"}}}},
	"the last result comes last": {listed([]event.Share{share(9, 0, 0, 1)}, newest, output),
		[]model.Freeing{{Type: "[get_ipython().del_var(name) for name in ('_2', '_9')];", Predicted: 9 * mebi,
			Names: []string{"a", "b"}, Shared: 9 * mebi}}},
	"little is shared": {listed([]event.Share{share(9, 0, 0), share(4, 0, 1),
		{Owners: []int32{0, 1}, Bytes: 1000, Exact: true}}, owner(0, "x"), output),
		[]model.Freeing{{Type: "del x", Predicted: 9 * mebi, Names: []string{"a"}},
			{Type: "%xdel _2", Predicted: 4 * mebi, Names: []string{"b"}}}},
	"a cycle": {listed([]event.Share{share(9, 9, 0)}, owner(0, "x")),
		[]model.Freeing{{Type: "del x; " + collects, Predicted: 9 * mebi, Names: []string{"a"}}}},
	"waits": {listed([]event.Share{share(9, 9, 0)}),
		[]model.Freeing{{Type: collects, Predicted: 9 * mebi, Names: []string{}}}},
	"a cycle and what waits": {listed([]event.Share{share(9, 9, 0), share(5, 5, 1), share(3, 3, 0, 1)},
		owner(0, "x")), []model.Freeing{{Type: "del x; " + collects, Predicted: 17 * mebi, Names: []string{"a"},
		Shared: 3 * mebi}}},
	"a cycle that two names share, and what waits": {listed([]event.Share{share(9, 9, 0, 1), share(5, 5, 3),
		{Owners: []int32{2}, Bytes: 1000, Cyclic: 1000, Exact: true}},
		owner(0, "fig"), owner(1, "ax"), owner(2, "little")),
		[]model.Freeing{{Type: "del fig, ax; " + collects, Predicted: 14 * mebi, Names: []string{"a", "b"},
			Shared: 9 * mebi}}},
	"the last exception": {listed([]event.Share{share(9, 9, 0), share(4, 4, 0, 1)}, failed),
		[]model.Freeing{{Type: errorGone, Predicted: 13 * mebi, Names: []string{"a"}, Shared: 4 * mebi}}},
	"more names than known": {listed([]event.Share{share(9, 0, 0)},
		event.Owner{Kind: event.HeldByVariable, Names: []string{"x", "y"}, More: true}),
		[]model.Freeing{{Type: "%xdel x", Predicted: 9 * mebi, Names: []string{"a"}}}},
	"a name that is none": {listed([]event.Share{share(9, 0, 0)}, owner(0, "my data")),
		[]model.Freeing{{Type: "get_ipython().del_var('my data')", Predicted: 9 * mebi, Names: []string{"a"}}}},
	"a cache": {listed([]event.Share{share(9, 0, 0), share(3, 0, 0, 1)},
		released(0, event.ReleaseCache, "Model.logdet"), owner(1, "m")),
		[]model.Freeing{{Type: "del m; Model.logdet.cache_clear()", Predicted: 12 * mebi, Names: []string{"a", "b"},
			Shared: 3 * mebi}}},
	"a module's array that two modules have": {listed([]event.Share{share(9, 0, 0)},
		released(0, event.ReleaseAttr, "a.b:arr", "data.arr")),
		[]model.Freeing{{Type: "import sys; sys.modules['a.b'].arr = None; data.arr = None", Predicted: 9 * mebi,
			Names: []string{"a"}}}},
	"a container": {listed([]event.Share{share(9, 0, 0)}, released(0, event.ReleaseClear, "lib:C.cache")),
		[]model.Freeing{{Type: "import sys; sys.modules['lib'].C.cache.clear()", Predicted: 9 * mebi,
			Names: []string{"a"}}}},
	"figures": {listed([]event.Share{share(9, 9, 0)}, released(0, event.ReleaseFigures, "plt")),
		[]model.Freeing{{Type: "plt.close('all'); " + collects, Predicted: 9 * mebi, Names: []string{"a"}}}},
	"a hostile attribute": {listed([]event.Share{share(9, 0, 0), share(8, 0, 1)},
		released(0, event.ReleaseClear, "x').y:z"), released(1, "pop", "x.y")), nil},
	"a function last": {listed([]event.Share{share(9, 0, 0, 1)}, tool(0, event.ToolName, "f"), owner(1, "x")),
		[]model.Freeing{{Type: "del x, f", Predicted: 9 * mebi, Names: []string{"a", "b"}, Shared: 9 * mebi}}},
	"an optimizer of parameters that a model has": {
		listed([]event.Share{share(9, 0, 0, 1), share(8, 0, 1), share(7, 0, 2)}, owner(0, "net"),
			tool(1, event.ToolOptimizer, "opt"), owner(2, "x")),
		[]model.Freeing{{Type: "del x", Predicted: 7 * mebi, Names: []string{"c"}}}},
	"an optimizer of parameters that a graph has": {reaching(listed([]event.Share{share(9, 0, 0)},
		tool(0, event.ToolOptimizer, "opt")), 12*mebi, 9*mebi), nil},
	"an optimizer alone": {listed([]event.Share{share(9, 0, 0)}, tool(0, event.ToolOptimizer, "opt")),
		[]model.Freeing{{Type: "del opt", Predicted: 9 * mebi, Names: []string{"a"}}}},
	"a hostile name": {listed([]event.Share{share(9, 0, 0)}, owner(0, "x'); import os; ('")), nil},
	"a line break":   {listed([]event.Share{share(9, 0, 0)}, owner(0, "x\nimport os")), nil},
	"only underscores": {listed([]event.Share{share(9, 0, 0)},
		event.Owner{Kind: event.HeldByOutput, Output: "_", Kept: true}), nil},
	"shared with what cannot be typed": {listed([]event.Share{share(9, 0, 0, 1), share(2, 0, 0)}, owner(0, "x"),
		owner(1, "a\tb")),
		[]model.Freeing{{Type: "del x", Predicted: 2 * mebi, Names: []string{"a"}}}},
	"owners that are not there": {listed([]event.Share{share(9, 0, 5), share(8, 0, -1), {Bytes: mebi}},
		owner(0, "x")), nil},
	"less than is worth it": {listed([]event.Share{{Owners: []int32{0}, Bytes: mebi - 1, Exact: true}},
		owner(0, "x")), nil},
	"GPU memory apart": {listed([]event.Share{share(9, 0, 0),
		{Owners: []int32{1}, Device: 7 * mebi, Bytes: 1000, Exact: true}}, owner(0, "x"), owner(1, "t")),
		[]model.Freeing{{Type: "del x", Predicted: 9 * mebi, Names: []string{"a"}},
			{Type: "del t", Predicted: 1000, Device: 7 * mebi, Names: []string{"b"}}}},
}

// TestFreeingOfNames checks the code where a recording has only the memory of each name alone.
func TestFreeingOfNames(t *testing.T) {
	got := Of(&event.Variables{PID: 7, Complete: true, Variables: []event.Variable{
		{Kind: event.HeldByVariable, Name: "x", Also: []string{"y"}, Bytes: 9 * mebi, Exact: true},
		{Kind: event.HeldByOutput, Name: "Out[2]", Bytes: 8 * mebi, Exact: true},
		{Kind: event.HeldByVariable, Name: "z'); import os; ('", Bytes: 7 * mebi, Exact: true},
		{Kind: event.HeldByVariable, Name: "w", Bytes: 3 * mebi, Exact: true},
	}})
	if len(got) != 1 || got[0].Type != "del x, y, w" || got[0].Predicted != 12*mebi || !got[0].Exact {
		t.Errorf("%+v", got)
	}
}

// TestFreeingBound checks that the bytes are a lower bound where a walk was cut or a share is one.
func TestFreeingBound(t *testing.T) {
	of := listed([]event.Share{share(9, 0, 0)}, owner(0, "x"))
	of.Complete = false
	if got := Of(of); len(got) != 1 || got[0].Exact {
		t.Errorf("%+v", got)
	}
	of.Complete, of.Shares[0].Exact = true, false
	if got := Of(of); len(got) != 1 || got[0].Exact {
		t.Errorf("%+v", got)
	}
}

func TestIdentifiers(t *testing.T) {
	for text, want := range map[string]bool{
		"x": true, "_1": true, "größe": true, "Δx": true, "данные": true, "数据": true, "1x": false, "": false,
		"class": false, "a b": false, "ﬁ": false, "ĳ": false, "x-y": false, "a.b": false, "x\n": false, "²": false,
	} {
		if isIdentifier(text) != want {
			t.Errorf("%q", text)
		}
	}
}

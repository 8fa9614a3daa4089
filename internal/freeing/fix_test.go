package freeing

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/hostile"
)

// TestCodeForTheEndsOfPaths checks the code that frees the ends of paths, from one block and from several.
func TestCodeForTheEndsOfPaths(t *testing.T) {
	for _, c := range []struct {
		kind  event.HolderKind
		root  string
		paths []string
		want  string
	}{
		{event.HeldByVariable, "acc", []string{"acc[0]", "acc[1]", "acc[17]"}, "acc.clear()"},
		{event.HeldByVariable, "acc", []string{"acc[10]", "acc[11]"}, "acc.clear()"},
		{event.HeldByVariable, "acc", []string{"acc[3][0]"}, "del acc[3][0]"},
		{event.HeldByVariable, "x", []string{"x"}, "del x"},
		{event.HeldByVariable, "x", []string{"x.data"}, "del x.data"},
		{event.HeldByVariable, "handlers", []string{"handlers['done'][0].args[0]", "handlers['done'][1].args[0]"},
			"handlers['done'].clear()"},
		{event.HeldByVariable, "d", []string{"d['a.b[c]'][0]", "d['a.b[c]'][1]"}, "d['a.b[c]'].clear()"},
		{event.HeldByVariable, "d", []string{`d['it\'s'].x[0]`, `d['it\'s'].x[1]`}, `d['it\'s'].x.clear()`},
		{event.HeldByVariable, "readers", []string{"readers[0].gi_frame.f_locals['chunk']",
			"readers[1].gi_frame.f_locals['chunk']"}, "readers.clear()"},
		{event.HeldByVariable, "r", []string{"r.gi_frame.f_locals['chunk']"}, "del r"},
		{event.HeldByVariable, "r", []string{"r[1].f_locals['chunk']"}, "del r[1]"},
		{event.HeldByVariable, "load", []string{"load.<dict>[1]", "load.<dict>[2]"}, "load.cache_clear()"},
		{event.HeldByVariable, "load", []string{"load.<dict>[1]"}, "load.cache_clear()"},
		{event.HeldByVariable, "Model", []string{"Model.logdet.<dict>{…}[0].x"}, "Model.logdet.cache_clear()"},
		{event.HeldByVariable, "slots", []string{"slots.flat[0]", "slots.flat[1]"}, "slots.fill(None)"},
		{event.HeldByVariable, "slots", []string{"slots.flat[4]"}, "slots.flat[4] = None"},
		{event.HeldByVariable, "seen", []string{"seen{…}", "seen{…}.x"}, ""},
		{event.HeldByVariable, "step", []string{"step.__closure__['history'][0]", "step.__closure__['history'][1]"},
			"import inspect\ninspect.getclosurevars(step).nonlocals['history'].clear()"},
		{event.HeldByVariable, "collect", []string{"collect.__defaults__[0][0]", "collect.__defaults__[0][1]"},
			"collect.__defaults__[0].clear()"},
		{event.HeldByVariable, "o", []string{"o.<lib.Thing>.x"}, ""},
		{event.HeldByVariable, "o", []string{"o[<tuple>].x"}, ""},
		{event.HeldByVariable, "(thread)", []string{"(thread).<dict>"}, ""},
		{event.HeldByModule, "a.b", []string{"a.b._cache['k']"}, "import sys\ndel sys.modules['a.b']._cache['k']"},
		{event.HeldByModule, "json", []string{"json.last"}, "import sys\ndel sys.modules['json'].last"},
		{event.HeldByModule, "matplotlib._pylab_helpers", []string{openFigures + "[2].canvas.figure",
			openFigures + "[3].canvas.figure"}, "import matplotlib.pyplot as plt\nplt.close('all')"},
		{event.HeldByModule, "lib'", []string{"lib'.x"}, ""},
		{event.HeldByThread, "", []string{"local"}, ""},
		{event.HeldByVariable, "x", []string{"x\n[0]"}, ""},
		{event.HeldByVariable, "x", []string{"x[(1, 'a')].y"}, "del x[(1, 'a')]"},
		{event.HeldByVariable, "x", []string{"x[__import__('os').system('true')]"}, ""},
	} {
		all := Ways{}
		for i, path := range c.paths {
			all.Add(event.Bytes(i+1), event.Holder{Kind: c.kind, Root: c.root, Path: path})
		}
		if got := all.Fix(); got != c.want {
			t.Errorf("%q: %q, want %q", c.paths, got, c.want)
		}
	}
	all := Ways{}
	all.Add(5, event.Holder{Kind: event.HeldByVariable, Root: "a", Path: "a[0]"})
	all.Add(9, event.Holder{Kind: event.HeldByVariable, Root: "b", Path: "b[0]"})
	all.Add(9, event.Holder{Kind: event.HeldByVariable, Root: "b", Path: "b[1]"})
	if got, want := all.Fix(), "b.clear()\ndel a[0]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzFix checks that no path of a target causes code that does not end where a line does, or a crash.
func FuzzFix(f *testing.F) {
	for _, path := range []string{"x[0].y", "x['a'][1]", "x.__closure__['b'][0]", "x.<dict>[1]", "x{…}", "x.flat[2]",
		"x['", "x]]"} {
		f.Add(path, path+"[1]")
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, one, other string) {
		all := Ways{}
		for _, path := range []string{one, other} {
			all.Add(1, event.Holder{Kind: event.HeldByVariable, Root: "x", Path: path})
		}
		code, _ := strings.CutPrefix(all.Fix(), "import inspect\n")
		for _, c := range code {
			if c < ' ' {
				t.Errorf("%q, %q: %q", one, other, all.Fix())
			}
		}
	})
}

// TestDropOutputs checks that each output is dropped by its number, and the history only where the numbers are not
// known; blocks in a cycle need the collector.
func TestDropOutputs(t *testing.T) {
	many := Ways{}
	for i := range 10 {
		many.Add(1, event.Holder{Kind: event.HeldByOutput, Output: i + 1, Path: fmt.Sprintf("Out[%d]", i+1),
			Root: "Out"})
	}
	if got := many.DropOutputs(); !strings.HasPrefix(got, "for n in (1, 2, ") ||
		!strings.HasSuffix(got, ", 10):\n    get_ipython().del_var(f'_{n}')") {
		t.Errorf("of ten: %q", got)
	}
	for _, c := range []struct {
		holder event.Holder
		want   string
	}{
		{event.Holder{Output: 8, Path: "Out[8]", Root: "Out"}, "%xdel _8"},
		{event.Holder{Output: 8, Path: "Out[8].x", Root: "Out", Cyclic: true}, "%xdel _8\n" + Collect},
		{event.Holder{Path: "Out[8]", Root: "Out"}, "%xdel _8"}, {event.Holder{Path: "_", Root: "_"}, "%xdel _"},
		{event.Holder{Path: "Out{…}", Root: "Out"}, DropHistory},
	} {
		c.holder.Kind = event.HeldByOutput
		all := Ways{}
		all.Add(1, c.holder)
		if got := all.DropOutputs(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.holder, got, c.want)
		}
	}
}

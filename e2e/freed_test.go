package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestFreed follows the advice of a report: it types the code that frees memory, each entry in a cell of its own, and
// checks that resident memory falls by what was said.
func TestFreed(t *testing.T) {
	together(t)
	for name, want := range map[string][]model.Freeing{
		"outputs": {
			{Type: "del top, arr; get_ipython().del_var('_3')", Names: []string{"arr", "top", "Out[3]"},
				Predicted: 96 << 20},
			{Type: "del plain", Names: []string{"plain"}, Predicted: 40 << 20},
			{Type: "%xdel _5", Names: []string{"Out[5]"}, Predicted: 24 << 20},
		},
		"aliases": {{Type: "%xdel one", Names: []string{"one"}, Predicted: 64 << 20}},
		"traceback": {{Type: "del view, base; import sys, gc; sys.last_value",
			Names: []string{"traceback of In[", "base", "view"}, Predicted: 128 << 20}},
		"traceback_later": {{Type: "import sys, gc; sys.last_value", Names: []string{"traceback of In["},
			Predicted: 80 << 20}},
		"cycles":    {{Type: "del node; import gc; gc.collect();", Names: []string{"node"}, Predicted: 88 << 20}},
		"elsewhere": {{Type: "del free", Names: []string{"free"}, Predicted: 33 << 20}},
		"places": {
			{Type: "import sys; sys.modules['imported_there'].arr = None", Predicted: 46 << 20},
			{Type: "load.cache_clear()", Names: []string{"load"}, Predicted: 42 << 20},
			{Type: "imported_here.arr = None", Predicted: 38 << 20},
			{Type: "Model.kept.clear()", Names: []string{"Model.kept"}, Predicted: 34 << 20},
			{Type: "Model.total.cache_clear()", Names: []string{"Model.total"}, Predicted: 30 << 20},
			{Type: "imported_here.cache.clear()", Predicted: 26 << 20},
		},
		"odd_names": {
			{Type: "get_ipython().del_var('class')", Predicted: 38 << 20}, {Type: "del größe", Predicted: 36 << 20},
			{Type: "get_ipython().del_var('my data')", Predicted: 34 << 20},
		},
		"texts":      {{Type: "del index, names", Names: []string{"index", "names"}, Predicted: textsTake(t)}},
		"frames":     {{Names: []string{"df", "top"}}},
		"many_texts": {{Names: []string{"df", "skus"}, Predicted: 168 << 20}, {Type: "del plain", Predicted: 40 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "frames" || name == "many_texts" {
				needModules(t, "pandas")
			}
			w := startWorkload(t, place{driver: "run_freed.py"}, []string{name})
			first := attach(t, w.pid, "--budget", "off", "--record", filepath.Join(t.TempDir(), "run.arrows"))
			w.run()
			r, _ := first.stop()
			sameEntries(t, r.ToFree, want)
			w.typeAll(r.ToFree)
		})
	}
}

// textsTake returns the least bytes of 600,000 short texts with a list and a dict of them: since Python 3.12 the head
// of a str is eight bytes smaller.
func textsTake(t *testing.T) int64 {
	t.Helper()
	out, err := exec.Command(python(), "-c", "import sys; print(sys.version_info >= (3, 12))").Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) == "True\n" {
		return 73 << 20
	}
	return 80 << 20
}

// sameEntries compares entries with the wanted ones, by the beginnings of their code.
func sameEntries(t *testing.T, got, want []model.Freeing) {
	t.Helper()
	for _, w := range want {
		i := slices.IndexFunc(got, func(f model.Freeing) bool {
			near := w.Predicted == 0 || f.Predicted >= w.Predicted && f.Predicted < w.Predicted+w.Predicted/20
			return near && (w.Type == "" || strings.Contains(f.Type, w.Type)) &&
				!slices.ContainsFunc(w.Names, func(n string) bool { return !isNamed(f.Names, n) })
		})
		if i < 0 {
			t.Errorf("no entry like %+v in %+v", w, got)
		}
	}
}

// isNamed reports whether a wanted name is among some; if it ends in a bracket, only its beginning counts.
func isNamed(all []string, want string) bool {
	return slices.ContainsFunc(all,
		func(n string) bool { return n == want || strings.HasSuffix(want, "[") && strings.HasPrefix(n, want) })
}

// checkFreed follows the advice at the end of ordinary notebooks: nothing under "to free it" is off by more than 5 % or
// 2 MiB.
func checkFreed(t *testing.T, s notebookSession) {
	t.Helper()
	s.workload.t = t
	s.workload.keepsPromises(s.report, s.recording)
}

// TestFreedIsChecked requests the code to type in a notebook, types it, and requests the amount that came back.
func TestFreedIsChecked(t *testing.T) {
	together(t)
	env, _ := companionAt(t, "/")
	n := startNotebook(t, env)
	tr := attach(t, n.pid, "--budget", "off")
	for _, cell := range []string{"%load_ext ipytracer\n%tracer off\nimport numpy as np",
		"arr = np.ones(60 << 20, dtype=np.uint8)\ntop = arr[:10]", "arr[:5]",
		"other = np.ones(20 << 20, dtype=np.uint8)"} {
		n.runs(cell)
	}
	shown := n.asksUntil("%tracer audit", "to free ")
	found := regexp.MustCompile(`type +(del .*del_var.*)`).FindStringSubmatch(shown)
	if found == nil || !strings.Contains(shown, "60.00 MiB") || !strings.Contains(shown, "del other") {
		t.Fatalf("audit shows\n%s", shown)
	}
	if early := n.asksUntil("%tracer audit --check", "came back"); !strings.Contains(early, "0 B") ||
		!strings.Contains(early, "is there still") {
		t.Errorf("nothing was typed:\n%s", early)
	}
	n.runs(found[1])
	after := n.asksUntil("%tracer audit --check", "came back")
	if !regexp.MustCompile(`60\.00 MiB +60\.00 MiB +del `).MatchString(after) ||
		!regexp.MustCompile(`20\.00 MiB +0 B +del other`).MatchString(after) {
		t.Errorf("the check shows\n%s", after)
	}
	n.runs("base = np.ones(48 << 20, dtype=np.uint8)\nsmall = base[:10]\ndel base")
	if views := n.asksUntil("%tracer vars", "made by"); !strings.Contains(views, "small, a view: 10 B of 48.00 MiB") ||
		!strings.Contains(views, "small = small.copy()") {
		t.Errorf("%%tracer vars shows\n%s", views)
	}
	n.runs("small = small.copy()")
	if views := n.asksUntil("%tracer vars", "made by"); strings.Contains(views, "a view") {
		t.Errorf("after the copy %%tracer vars shows\n%s", views)
	}
	tr.stop()
}

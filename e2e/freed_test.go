package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// cameBack is what typing one entry gave back.
type cameBack struct {
	model.Freeing
	resident, numpy int64
}

// TestFreed does what is advised: it types what a report says frees memory, each in a cell of its own, and sees it come back.
func TestFreed(t *testing.T) {
	together(t)
	for name, want := range map[string][]model.Freeing{
		"outputs": {
			{Type: "del top, arr; get_ipython().del_var('_3')", Names: []string{"arr", "top", "Out[3]"}, Predicted: 96 << 20},
			{Type: "del plain", Names: []string{"plain"}, Predicted: 40 << 20},
			{Type: "%xdel _5", Names: []string{"Out[5]"}, Predicted: 24 << 20},
		},
		"aliases":         {{Type: "%xdel one", Names: []string{"one"}, Predicted: 64 << 20}},
		"traceback":       {{Type: "del view, base; import sys; ", Names: []string{"the last traceback", "base", "view"}, Predicted: 128 << 20}},
		"traceback_later": {{Type: "import sys; ", Names: []string{"the last traceback"}, Predicted: 80 << 20}},
		"cycles":          {{Type: "del node; import gc; gc.collect();", Names: []string{"node"}, Predicted: 88 << 20}},
		"elsewhere":       {{Type: "del free", Names: []string{"free"}, Predicted: 33 << 20}},
		"odd_names": {
			{Type: "get_ipython().del_var('class')", Predicted: 38 << 20}, {Type: "del größe", Predicted: 36 << 20}, {Type: "get_ipython().del_var('my data')", Predicted: 34 << 20},
		},
		"texts":  {{Type: "del index, names", Names: []string{"index", "names"}, Predicted: 80 << 20}},
		"frames": {{Names: []string{"df", "top"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "frames" {
				needModules(t, "pandas")
			}
			w := startWorkload(t, place{driver: "run_freed.py"}, []string{name})
			second := attach(t, w.pid, "--budget", "off")
			first := attach(t, w.pid, "--budget", "off", "--record", filepath.Join(t.TempDir(), "run.arrows"))
			w.run()
			r, _ := first.stop()
			sameEntries(t, r.ToFree, want)
			for _, f := range typeAll(t, w, second, r.ToFree) {
				t.Logf("predicted %8.2f MiB, resident %8.2f MiB, numpy %8.2f MiB: %s", mebibytes(f.Predicted), mebibytes(f.resident), mebibytes(f.numpy), f.Type)
				part := int64(20)
				if name == "texts" { // small objects: what the last of a page of them holds comes back with it
					part = 10
				}
				near := func(got int64) bool { return got > f.Predicted-f.Predicted/part && got < f.Predicted+f.Predicted/part }
				if !near(f.resident) {
					t.Errorf("%q: predicted %d bytes, resident memory fell by %d, arrays by %d", f.Type, f.Predicted, f.resident, f.numpy)
				}
				if name != "texts" && name != "frames" && !near(f.numpy) {
					t.Errorf("%q: predicted %d bytes, arrays fell by %d", f.Type, f.Predicted, f.numpy)
				}
			}
		})
	}
}

// sameEntries wants these entries, by the beginnings of what is typed.
func sameEntries(t *testing.T, got, want []model.Freeing) {
	t.Helper()
	for _, w := range want {
		i := slices.IndexFunc(got, func(f model.Freeing) bool {
			near := w.Predicted == 0 || f.Predicted >= w.Predicted && f.Predicted < w.Predicted+w.Predicted/20
			return near && (w.Type == "" || strings.Contains(f.Type, w.Type)) && !slices.ContainsFunc(w.Names, func(n string) bool { return !slices.Contains(f.Names, n) })
		})
		if i < 0 {
			t.Errorf("no entry like %+v in %+v", w, got)
		}
	}
}

// typeAll types each entry into a cell and says what that gave back: a tracer of its own sees it.
func typeAll(t *testing.T, w *workload, second *trace, entries []model.Freeing) (out []cameBack) {
	t.Helper()
	w.again("later = 2") // somebody goes on working before typing it
	var counts []int
	for _, f := range entries {
		counts = append(counts, w.again(f.Type)[0])
	}
	r, _ := second.stop()
	for i, f := range entries {
		at := slices.IndexFunc(r.Windows, func(x model.Window) bool {
			return x.Kind == model.Cell && x.ExecutionCount != nil && *x.ExecutionCount == counts[i]
		})
		if at < 0 {
			t.Errorf("no window of In[%d]: %s", counts[i], f.Type)
			continue
		}
		m := r.Windows[at].Meters
		out = append(out, cameBack{f, -m["cpu.resident"].Consumed, -m["cpu.numpy"].Consumed})
	}
	return out
}

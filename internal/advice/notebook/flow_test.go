package notebook_test

import (
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

// session has a in In[1], source in In[2], the highest moment in In[3] and what comes behind it in In[4].
func session(first, source, last string, lines int, variables ...model.Variable) (
	trail *notebook.Trail, shown bool, held string) {
	var steps []advicetest.Step
	for i := range lines {
		steps = append(steps, advicetest.Step{Line: i + 1})
	}
	variables = append(variables, advicetest.Variable("a", 100, 1, 2))
	n := advicetest.Notebook(variables,
		advicetest.Cell{Source: first + "\na = np.ones(9)",
			Steps: []advicetest.Step{{Line: 1}, advicetest.Makes(2, 100)}},
		advicetest.Cell{Source: source, Steps: steps},
		advicetest.Cell{Source: "z = np.ones(99)", Steps: []advicetest.Step{
			advicetest.Needs(1, 300, advicetest.Still(1, 2, 100))}},
		advicetest.Cell{Source: last, Steps: []advicetest.Step{{Line: 1}}})
	s := notebook.NewFlow(n)
	trail = s.Follow("a", n.Statements[1], n.Peak)
	return trail, trail.Shown(n.Peak), trail.Held(n.Peak)
}

// use is what a notebook does with a: whether the end shows what held it at the highest moment, and what surely did.
type use struct {
	source, last string
	lines        int // statements of source
	shown        bool
	held         string
	variables    []model.Variable
}

func array(name string) model.Variable { return advicetest.Variable(name, 1, 0, 0) }

// uses has each kind of holder, untouched behind the highest moment and let go there, and uses that keep nothing.
var uses = map[string]use{
	"nothing":                    {"x = a.sum()", "x = 0", 1, true, "", nil},
	"a product":                  {"x = a * 2", "x = 0", 1, true, "", nil},
	"a copy of a part":           {"x = a[1:].copy()", "x = 0", 1, true, "", nil},
	"a function of NumPy":        {"x = np.sqrt(a)", "x = 0", 1, true, "", nil},
	"of a part":                  {"x = np.dot(a[1:], a.T)", "x = 0", 1, true, "", nil},
	"printed":                    {"print(a, len(a), a.shape)", "x = 0", 1, true, "", nil},
	"stored in an array":         {"b[0] = a", "x = 0", 1, true, "", []model.Variable{array("b")}},
	"added to an array":          {"b += a", "x = 0", 1, true, "", []model.Variable{array("b")}},
	"a score":                    {"import sklearn.metrics as k\nx = k.r2_score(a, a)", "x = 0", 2, true, "", nil},
	"a function that keeps none": {"def f(v): return v.sum()\nx = f(a)", "x = 0", 2, true, "", nil},
	"a method of an estimator":   {"m = svm.SVC()\nm.fit(a)", "pass", 2, true, "", nil},
	"and it is gone then":        {"m = svm.SVC()\nm.fit(a)", "m = None", 2, false, "", nil},
	"and it is fitted again":     {"m = svm.SVC()\nm.fit(a)", "m.fit(z)", 2, false, "", nil},
	"in the statement":           {"m = svm.SVC().fit(a)", "m = None", 1, false, "", nil},
	"a constructor":              {"class M: pass\nm = M(a)", "m = None", 2, false, "", nil},
	"a generator":                {"def rows(v): yield v\ng = rows(a)", "g = None", 2, false, "", nil},
	"a generator that ends":      {"def rows(v): yield v\ng = rows(a)", "sum(g)", 2, false, "", nil},
	"a lazy generator":           {"g = (v for v in a)", "g = None", 1, false, "", nil},
	"another name":               {"b = a", "b = None", 1, false, "b", nil},
	"another name, gone before":  {"b = a\nb = None", "b = 1", 2, true, "", nil},
	"a view":                     {"b = a[1:]", "b = None", 1, false, "b", nil},
	"a view that stays":          {"b = a[1:]", "f(b)", 1, true, "b", nil},
	"transposed":                 {"b = a.T", "b = None", 1, false, "b", nil},
	"reshaped":                   {"b = np.reshape(a, 3)", "b = None", 1, false, "b", nil},
	"raveled":                    {"b = a.ravel()", "b = None", 1, false, "b", nil},
	"as an array":                {"b = np.asarray(a)", "b = None", 1, false, "b", nil},
	"a tensor of it":             {"b = torch.from_numpy(a)", "b = None", 1, false, "", nil},
	"a loader":                   {"d = torch.utils.data.DataLoader(a)", "d = None", 1, false, "", nil},
	"a list":                     {"b = []\nb.append(a)", "b = None", 2, false, "b", nil},
	"a list that is emptied":     {"b = []\nb.append(a)", "b.clear()", 2, false, "b", nil},
	"a list that was emptied":    {"b = []\nb.append(a)\nb.clear()", "b = 0", 3, false, "", nil},
	"a tuple":                    {"b = (a, 1)", "b = None", 1, false, "b", nil},
	"a dict":                     {"b = {'a': a}", "del b['a']", 1, false, "b", nil},
	"an element of a dict":       {"b = {}\nb['a'] = a", "b.pop('a')", 2, false, "b", nil},
	"an attribute":               {"class C: pass\nc = C()\nc.x = a", "c.x = None", 3, false, "c", nil},
	"a view of a view":           {"b = a[1:]\nd = [b]\nb = None", "d = None", 3, false, "", nil},
	"a figure":                   {"plt.plot(a)", "pass", 1, false, "", nil},
	"axes":                       {"f, x = plt.subplots()\nx.plot(a)", "pass", 2, false, "", nil},
	"a module that nobody knows": {"import wandb\nwandb.log(a)", "pass", 2, false, "", nil},
	"a function nobody knows":    {"x = f(a)", "pass", 1, false, "", nil},
	"returned as it is by NumPy": {"x = np.add(a, 1, out=a)", "x = 0", 1, false, "", nil},
	"a default":                  {"def f(x=a): pass", "f = None", 1, false, "", nil},
	"a function with a global":   {"c = []\ndef f(): c.append(a)\nf()", "c.clear()", 3, false, "", nil},
	"a function with a list":     {"c = []\ndef f(v): c.append(v)\nf(a)", "c.clear()", 3, false, "", nil},
	"code in a text":             {"exec('b = a'); b = a", "pass", 1, false, "", nil},
	"the loop's last row":        {"for r in a: pass", "r = None", 1, false, "", nil},
	"a partial": {"import functools\np = functools.partial(print, a)", "p = None", 2, false, "",
		nil},
	"a method with a harmless name": {"class S: pass\ns = S()\ns.save(a)", "s = None", 3, false, "", nil},
	"written into itself":           {"x = np.sqrt(a, a)", "x = 0", 1, false, "", nil},
	"conjugated":                    {"x = a.conj()", "x = 0", 1, false, "", nil},
	"an element of objects":         {"x = np.array([a, None], dtype=object)", "x = 0", 1, false, "", nil},
	"the largest of a list":         {"x = max([a, b], key=len)", "x = 0", 1, false, "", nil},
	"the sum of lists":              {"x = sum([[a]], [])", "x = 0", 1, false, "", nil},
	"an error that is kept": {"def f(v): raise E(v.sum())\ntry: f(a)\nexcept E as e: k = e", "k = 0", 2, false, "",
		nil},
	"an attribute of a module": {"np.mine = a", "del np.mine", 1, false, "np", nil},
	"handed on later":          {"b = [a]\nc = b\nb = None", "c = 0", 3, false, "", nil},
	"a memoryview":             {"b = a.data", "b.release()", 1, false, "", nil},
	"joined":                   {"x = np.concatenate([a, a])", "x = 0", 1, true, "", nil},
}

// TestUsesOfAName follows a through uses of all kinds.
func TestUsesOfAName(t *testing.T) {
	const imports = "import numpy as np, matplotlib.pyplot as plt, sklearn.svm as svm, torch"
	for name, c := range uses {
		t.Run(name, func(t *testing.T) {
			trail, shown, held := session(imports, c.source, c.last, c.lines, c.variables...)
			if shown != c.shown || held != c.held {
				t.Errorf("shown: %v, want %v; held by %q, want %q; %+v", shown, c.shown, held, c.held, trail.Ways)
			}
		})
	}
}

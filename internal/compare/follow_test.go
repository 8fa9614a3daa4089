package compare_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/compare"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// whys returns the reasons why cells changed: "In[4]: it reads orders, …".
func whys(d *model.Diff) (out []string) {
	for i := range d.Cells {
		if row := &d.Cells[i]; row.Why != "" {
			out = append(out, words.Row(row)+": "+row.Why)
		}
	}
	return out
}

// versions returns two sessions of the same cells, except for one; each cell of b needs and keeps the given bytes.
func versions(edited int, before, after string, cells ...one) (a, b []one) {
	a, b = slices.Clone(cells), slices.Clone(cells)
	a[edited].source, b[edited].source = before, after
	for i := range b {
		a[i].needs, a[i].keeps = 0, 0
	}
	return a, b
}

// TestCellsFollowFromWhatTheyRead is the example of the manual: one cell is edited, and the cells that read its values
// are named with it.
func TestCellsFollowFromWhatTheyRead(t *testing.T) {
	cells := []one{{source: "import numpy as np"}, {needs: 76, keeps: 76},
		{source: "print('orders')  # orders\nx.orders = 1"},
		{source: "top = orders.groupby('a').sum()", needs: 168, keeps: 20}, {source: "top.plot()", needs: 30},
		{source: "other = rates * 2", needs: 50}}
	a, b := versions(1, "import pandas as pd\norders = load(1)\nrates = pd.read()",
		"import pandas as pd\norders = load(20)\nrates = pd.read()", cells...)
	d := diff(t, session(a...), session(b...), "")
	want := []string{
		"In[2]: its source was edited in line 2",
		"In[3]: " + words.WhyConsequence,
		"In[4]: it reads orders, made in In[2], edited in line 2",
		"In[5]: it reads top, made in In[4], which reads orders, made in In[2], edited in line 2",
		"In[6]: " + words.WhySame,
	}
	if got := whys(d); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(d.Causes) != 2 || d.Causes[0].Cell != 1 || len(d.Causes[0].Follows) != 2 || d.Causes[1].Cell != 5 {
		t.Fatalf("causes %+v", d.Causes)
	}
	if f := d.Causes[0].Follows[0]; f.Cell != 3 || f.Bytes != 168*mib ||
		f.Why != "needs 168.00 MiB more: it reads orders, made in In[2], edited in line 2" {
		t.Errorf("%+v", f)
	}
	if r := d.Cells[4].Reads; !slices.Equal(r, []model.DiffRead{{Name: "top", Cell: 3}, {Name: "orders", Cell: 1}}) {
		t.Errorf("reads %+v", r)
	}
	if e := d.Cells[1].Edits; !slices.Equal(e, []model.Edit{{A: 2, LinesA: 1, B: 2, LinesB: 1}}) {
		t.Errorf("edits %+v", e)
	}
}

// TestWhyACellFollows checks names that a cell may read, and some that it only seems to read.
func TestWhyACellFollows(t *testing.T) {
	const no = words.WhySame
	for _, c := range []struct{ name, before, after, between, reader, want string }{
		{"read", "n = 1", "n = 2", "", "np.ones(n)", "it reads n, made in In[2], edited in line 1"},
		{"in an f-string", "n = 1", "n = 2", "", "f(f'{n}')", "it reads n, made in In[2], edited in line 1"},
		{"in a string", "n = 1", "n = 2", "", "f('n')", no},
		{"an attribute", "n = 1", "n = 2", "", "f.n", no},
		{"an argument's name", "n = 1", "n = 2", "", "f(n=1)", no},
		{"a comprehension's own", "n = 1", "n = 2", "", "[n for n in range(3)]", no},
		{"made anew", "n = 1", "n = 2", "n = 3", "np.ones(n)", no},
		{"made anew of it", "n = 1", "n = 2", "n = n * 3", "np.ones(n)",
			"it reads n, made in In[3], which reads n, made in In[2], edited in line 1"},
		{"deleted", "n = 1", "n = 2", "del n", "n = other\nnp.ones(n)", no},
		{"made anew in the cell", "n = 1", "n = 2", "", "n = 3\nnp.ones(n)", no},
		{"read in the cell by way of another", "n = 1", "n = 2", "", "k = n\nnp.ones(k)",
			"it reads n, made in In[2], edited in line 1"},
		{"a comment", "n = 1", "n = 1  # more", "", "np.ones(n)", no},
		{"another line", "n = 1\nm = 1", "n = 1\nm = 2", "", "np.ones(n)", no},
		{"of another line", "m = 1\nn = m", "m = 2\nn = m", "", "np.ones(n)",
			"it reads n, made in In[2], edited in line 1"},
		{"a line more", "n = 1", "n = 1\nn = 2", "", "np.ones(n)", "it reads n, made in In[2], edited in line 2"},
		{"a line less", "n = 1\nn = n * 9", "n = 1", "", "np.ones(n)",
			"it reads n, made in In[2], edited behind line 1"},
		{"in place", "rows = []", "rows = []\nrows.append(big)", "", "f(rows)",
			"it reads rows, changed in In[2], edited in line 2"},
		{"a part of it", "df = g()", "df = g()\ndf['a'] = 1", "", "f(df)",
			"it reads df, changed in In[2], edited in line 2"},
		{"a function that reads it", "n = 1", "n = 2", "def f():\n    return np.ones(n)", "f()",
			"it reads n, made in In[2], edited in line 1"},
		{"a function's own", "n = 1", "n = 2", "def f(n):\n    return np.ones(n)", "f(3)", no},
		{"a function that was edited", "def f():\n    return 1", "def f():\n    return 2", "", "f()",
			"it reads f, made in In[2], edited in line 2"},
		{"an import", "import a as m", "import b as m", "", "m.load()", "it reads m, made in In[2], edited in line 1"},
		{"a magic", "%time n = 1", "%time n = 2", "", "np.ones(n)", "it reads n, made in In[2], edited in line 1"},
		{"another language", "%%bash\nn=1", "%%bash\nn=2", "", "np.ones(n)", no},
		{"a loop", "n = 1", "n = 2", "for i in range(n):\n    total = i", "np.ones(total)",
			"it reads total, made in In[3], which reads n, made in In[2], edited in line 1"},
	} {
		a, b := versions(1, c.before, c.after, one{source: "import numpy as np"}, one{}, one{source: c.between},
			one{source: c.reader, needs: 100})
		d := diff(t, session(a...), session(b...), "")
		if got := d.Cells[3].Why; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestNewAndGone checks that values of a cell that is new or gone are a reason, too.
func TestNewAndGone(t *testing.T) {
	short := session(one{source: "import numpy"}, one{source: "orders = load(everything)"},
		one{source: "orders.groupby('a')"})
	long := session(one{source: "import numpy"}, one{source: "orders = load(everything)"},
		one{source: "orders = pd.concat([orders] * 9)", needs: 90, keeps: 90},
		one{source: "orders.groupby('a')", needs: 100})
	if got := whys(diff(t, short, long, "")); len(got) < 2 ||
		got[len(got)-1] != "In[3] → In[4]: it reads orders, made in In[3], which is new" {
		t.Errorf("new: %q", got)
	}
	if got := whys(diff(t, long, short, "")); len(got) < 2 ||
		got[len(got)-1] != "In[4] → In[3]: it reads orders, made in In[3], which is gone" {
		t.Errorf("gone: %q", got)
	}
}

// TestOnlyWhereFiguresFit checks that a cell that needs less does not follow from one that keeps more, and that a line
// does not follow from names that other lines read.
func TestOnlyWhereFiguresFit(t *testing.T) {
	a := session(one{source: "import numpy"}, one{source: "orders = load(1)"}, one{source: "orders.sum()", needs: 200})
	b := session(one{source: "import numpy"}, one{source: "orders = load(9)", needs: 100, keeps: 100},
		one{source: "orders.sum()", needs: 20})
	d := diff(t, a, b, "")
	want := words.WhySame + "; it reads orders, made in In[2], edited in line 1, but that changed the other way"
	if d.Cells[2].Why != want || len(d.Causes) != 2 || len(d.Causes[0].Follows) != 0 {
		t.Errorf("%q, causes %+v", d.Cells[2].Why, d.Causes)
	}
	for line, want := range map[int]string{1: "it reads orders, made in In[2], edited in line 1", 2: words.WhySame} {
		reader := "x = orders * 2\ny = rates * 2"
		a = session(one{source: "rates = other()"}, one{source: "orders = load(1)"}, one{source: reader})
		b = session(one{source: "rates = other()"}, one{source: "orders = load(9)"},
			one{source: reader, needs: 80, lines: []model.Allocation{made(3, line, "<module>", 80)}})
		if d := diff(t, a, b, ""); d.Cells[2].Why != want {
			t.Errorf("line %d: %q, want %q", line, d.Cells[2].Why, want)
		}
	}
}

// TestWhatLetsGo checks a cell that deletes or replaces a value: it frees as much more as another one allocated.
func TestWhatLetsGo(t *testing.T) {
	for _, source := range []string{"del orders", "orders = None"} {
		a := session(one{source: "import numpy"}, one{source: "orders = load(1)", needs: 50, keeps: 50},
			one{source: source, keeps: -50})
		b := session(one{source: "import numpy"}, one{source: "orders = load(9)", needs: 90, keeps: 90},
			one{source: source, keeps: -90})
		d := diff(t, a, b, "")
		if f := d.Causes[0].Follows; len(d.Causes) != 1 || len(f) != 1 ||
			f[0].Why != "gives back 40.00 MiB more: it lets go of orders, made in In[2], edited in line 1" {
			t.Errorf("%s: causes %+v", source, d.Causes)
		}
		b = session(one{source: "import numpy"}, one{source: "orders = load(9)", needs: 90, keeps: 90},
			one{source: source, needs: 70, keeps: -50})
		if d := diff(t, a, b, ""); len(d.Causes) != 2 || d.Cells[2].Why != words.WhySame {
			t.Errorf("%s that needs more: causes %+v", source, d.Causes)
		}
	}
}

// TestAnEditThatIsNotTheReason checks a cell that was edited in one line, while another line makes the difference,
// which reads a value of another cell.
func TestAnEditThatIsNotTheReason(t *testing.T) {
	for line, want := range map[int]string{1: "it reads orders, made in In[1], edited in line 1",
		2: "its source was edited in line 2"} {
		a := session(one{source: "orders = load(1)"}, one{source: "x = orders * 2\ny = rates * 2\nz = 3"})
		b := session(one{source: "orders = load(9)"},
			one{source: "x = orders * 2\ny = rates * 3\nz = 3", needs: 80,
				lines: []model.Allocation{made(2, line, "<module>", 80)}})
		if d := diff(t, a, b, ""); d.Cells[1].Why != want {
			t.Errorf("line %d: %q, want %q", line, d.Cells[1].Why, want)
		}
	}
}

// TestNamesAreOfTheSource checks that no name is reported without sources.
func TestNamesAreOfTheSource(t *testing.T) {
	a, b := versions(0, "orders = load(1)", "orders = load(2)", one{}, one{source: "top = orders * 2", needs: 100},
		one{source: "top.plot()", needs: 50})
	d := report.DiffWithoutSource(diff(t, session(a...), session(b...), ""))
	said := string(reporttest.Diff(t, d))
	if strings.Contains(said, "orders") || strings.Contains(said, "top") {
		t.Errorf("%s", said)
	}
	want := "it reads what was made in In[2], which reads what was made in In[1], edited in line 1"
	if d.Cells[2].Why != want {
		t.Errorf("%q, want %q", d.Cells[2].Why, want)
	}
	bare := func(all []one) *model.Report {
		r := session(all...)
		for i := range r.Windows {
			r.Windows[i].Source = ""
		}
		return r
	}
	if d := diff(t, bare(a), bare(b), ""); d.Cells[1].Why != words.WhySame {
		t.Errorf("without sources: %q", d.Cells[1].Why)
	}
}

// TestReadersAreFound runs made-up notebooks in both versions: a cell reads another value than before if and only if
// that is reported, and the names reported for it have another value.
func TestReadersAreFound(t *testing.T) {
	followed := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 15))
		name := func() string { return fmt.Sprintf("n%d", random.IntN(6)) }
		var cells []one
		n := 3 + random.IntN(8)
		for range n {
			var lines []string
			for range 1 + random.IntN(3) {
				lines = append(lines, fmt.Sprintf("%s = f%d(%s, %s)", name(), random.IntN(1000), name(), name()))
			}
			cells = append(cells, one{source: strings.Join(lines, "\n"), needs: 50})
		}
		edited := random.IntN(n)
		lines := strings.Split(cells[edited].source, "\n")
		lines[random.IntN(len(lines))] = fmt.Sprintf("%s = g(%s)", name(), name())
		a, b := versions(edited, cells[edited].source, strings.Join(lines, "\n"), cells...)
		d := diff(t, session(a...), session(b...), "")
		if len(d.Cells) != n || d.Cells[edited].Change != model.Edited { // too much of it is new
			continue
		}
		before, after := map[string]string{}, map[string]string{}
		for i := range cells {
			inA, inB := runs(a[i].source, before), runs(b[i].source, after)
			if i == edited {
				continue
			}
			row := &d.Cells[i]
			if differs := !maps.Equal(inA, inB); differs != (len(row.Reads) > 0) {
				t.Fatalf("seed %d: %s reads another value: %v, and is said to be: %q\n%s", seed, words.Row(row),
					differs, row.Why, b[i].source)
			}
			if len(row.Reads) == 0 {
				continue
			}
			followed++
			if first := row.Reads[0]; row.Reads[len(row.Reads)-1].Cell != edited || inA[first.Name] == inB[first.Name] {
				t.Fatalf("seed %d: %s: %+v", seed, words.Row(row), row.Reads)
			}
		}
	}
	if followed < 300 {
		t.Errorf("only %d cells follow", followed)
	}
}

// runs runs a cell of lines like x = f(y, z), and returns the values that it read from other cells. A value is the text
// of the calls that made it.
func runs(source string, values map[string]string) map[string]string {
	read, own := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(source) {
		target, call, _ := strings.Cut(strings.TrimSpace(line), " = ")
		function, arguments, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
		made := function
		for _, n := range strings.Split(arguments, ", ") {
			if made += "(" + values[n] + ")"; !own[n] {
				read[n] = values[n]
			}
		}
		if len(made) > 60 { // it would become long
			made = fmt.Sprintf("%x", hash(made))
		}
		values[target], own[target] = made, true
	}
	return read
}

func hash(s string) (h uint64) {
	h = 14695981039346656037
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// TestHostileChains checks that the chain from a cell to its cause is bounded, however long it is.
func TestHostileChains(t *testing.T) {
	a, b := []one{{source: "n0 = 1"}}, []one{{source: "n0 = 2"}}
	for i := range 400 {
		next := one{source: fmt.Sprintf("n%d = n%d + 1", i+1, i)}
		a = append(a, next)
		next.needs = 10
		b = append(b, next)
	}
	d, err := compare.Runs(compare.Read("a", session(a...)), compare.Read("b", session(b...)),
		compare.Options{Least: mib})
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for i := range d.Cells {
		longest = max(longest, len(d.Cells[i].Reads))
		if len(d.Cells[i].Why) > 1000 {
			t.Fatalf("%q", d.Cells[i].Why)
		}
	}
	if longest == 0 || longest > 16 || !strings.Contains(d.Cells[10].Why,
		"and so on back to n0, made in In[1], edited in line 1") {
		t.Errorf("%d, %q", longest, d.Cells[10].Why)
	}
}

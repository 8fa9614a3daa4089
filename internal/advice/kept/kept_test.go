package kept

import "testing"

// work is a cell that goes 90 MiB above its start.
var work = cell{Source: "busy()", Steps: []step{{Line: 1, Peak: 90}}}

func TestOutput(t *testing.T) {
	const first = "import numpy as np\na = np.ones((3000, 3000))"
	for _, of := range []struct {
		name, shows, later, want string
		saves                    int64
	}{
		{"a product", "a @ a.T", "print(1)", "display(a @ a.T)", 68},
		{"a comment behind", "a @ a.T  # all", "print(1)", "display(a @ a.T)  # all", 68},
		{"two values", "a @ a.T, a.T @ a", "print(1)", "display((a @ a.T, a.T @ a))", 68},
		{"two values in parentheses", "(a @ a.T, 1)", "print(1)", "display(((a @ a.T, 1)))", 68},
		{"over lines", "(a @\n a.T)", "print(1)", "(display(a @\n a.T))", 68},
		{"_ is for what nobody uses", "a @ a.T", "for _ in range(3): pass", "display(a @ a.T)", 68},
		{"used by its number", "a @ a.T", "print(_2.shape)", "", 0},
		{"used as Out", "a @ a.T", "print(Out[2].shape)", "", 0},
		{"used as the last one", "a @ a.T", "b = _", "", 0},
		{"display is something else", "a @ a.T", "def display(x): pass", "", 0},
		{"a cell that cannot be read", "a @ a.T", "print(", "", 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			shown := cell{Source: of.shows, Steps: []step{{Line: 1, Peak: 68, End: 68,
				Blocks: []blocks{{Made: 68, Kept: 68, Live: 68, Count: 1}}}}}
			n := session(variable("output", "Out[2]", "numpy.ndarray", 68, 2, 1),
				cell{Source: first, Steps: []step{{Line: 1}, {Line: 2}}}, shown, work,
				cell{Source: of.later, Steps: []step{{Line: 1}}})
			if of.want == "" {
				check(t, n, "", 0, 0, 0)
				return
			}
			check(t, n, "output", 2, 1, of.saves, of.want)
		})
	}
}

// TestOutputOfName: the memory goes where the name gets another value, not before.
func TestOutputOfName(t *testing.T) {
	made := blocks{Made: 90, Kept: 90, Live: 90, Count: 1}
	stays := blocks{Live: 90, Cell: 1, Line: 2}
	cells := []cell{
		{Source: "import pandas as pd\ndf = load()", Steps: []step{{Line: 1}, {Line: 2, Peak: 90, End: 90,
			Blocks: []blocks{made}}}},
		{Source: "df.head()", Steps: []step{{Line: 1}}},
		{Source: "df = df[df.x > 0]", Steps: []step{{Line: 1, Peak: 20, End: 10, Blocks: []blocks{stays}}}},
		{Source: "busy()", Steps: []step{{Line: 1, Peak: 50, Blocks: []blocks{stays}}}},
	}
	r := variable("output", "Out[2]", "DataFrame", 90, 1, 2)
	// In[3] stays as it is, at 210 MiB; In[4] was at 250.
	check(t, session(r, cells...), "output", 2, 1, 40, "display(df.head())")
	cells[2].Source = "other = df[df.x > 0]"
	check(t, session(r, cells...), "", 0, 0, 0)
}

package words

import "testing"

// differ checks that each text is there, and that no two are the same.
func differ(t *testing.T, texts []string) {
	t.Helper()
	known := map[string]int{"": -1}
	for i, text := range texts {
		if other, is := known[text]; is {
			t.Errorf("%d. text: %q, like the %d.", i, text, other)
		}
		known[text] = i
	}
}

// TestNotes: each note has a text of its own, with the values that it has.
func TestNotes(t *testing.T) {
	var texts []string
	for kind := NoteKind(1); kind < NoteKinds; kind++ {
		texts = append(texts, kind.String())
		if kind != EndedBy && kind != RanUnseen && (Note{kind, "a", 3, 4}).String() != kind.String() {
			t.Errorf("%q has a value", kind)
		}
	}
	differ(t, texts)
	for _, c := range []struct {
		note Note
		want string
	}{
		{Note{Kind: EndedBy, Name: "SIGKILL"}, "the process was ended by SIGKILL"},
		{Note{Kind: RanUnseen, First: 3, Last: 3}, "In[3] ran in it without being seen"},
		{Note{Kind: RanUnseen, First: 3, Last: 5, Name: "a.ipynb"},
			"In[3] to In[5] of a.ipynb ran in it without being seen"},
	} {
		if got := c.note.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestProblems: each problem has a text of its own, with the values that it has.
func TestProblems(t *testing.T) {
	var texts []string
	for kind := range ProblemKinds {
		one, several := Problem{Kind: kind, PID: 7, Count: 1}, Problem{Kind: kind, PID: 8, Count: 2}
		texts = append(texts, one.String(), several.String())
	}
	differ(t, texts)
	for _, c := range []struct {
		problem Problem
		want    string
	}{
		{Problem{Kind: EndUnseen, PID: 7, Count: 1},
			"pid 7: a cell was not seen to end; the probes on cell ends and prompts are in doubt"},
		{Problem{Kind: ResultUnseen, PID: 7, Count: 2},
			"pid 7: 2 cells were not seen to have their results; the probes on cell ends are in doubt"},
		{Problem{Kind: WindowsUnseen, PID: 7, First: 2, Last: 3, Name: "a.ipynb", Doubted: StartProbes},
			"pid 7: IPython has In[2] to In[3] of a.ipynb, which no window stands for: not compiled, or not seen to " +
				"begin; the probes on cell starts are in doubt"},
		{Problem{Kind: NotBegun, PID: 7, Name: "a\n"}, `experiment "a\n" ended in pid 7, but had not begun`},
	} {
		if got := c.problem.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestProbes(t *testing.T) {
	var texts []string
	for p := range Probes(len(probes)) {
		texts = append(texts, p.String())
	}
	differ(t, texts)
}

func TestListsInWords(t *testing.T) {
	for _, c := range []struct {
		remarks []string
		want    string
	}{{nil, ""}, {[]string{"", ""}, ""}, {[]string{"a", ""}, "a"}, {[]string{"", "a"}, "a"},
		{[]string{"a", "", "b", "a"}, "a; b; a"}} {
		if got := Join(c.remarks...); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

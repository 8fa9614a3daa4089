package trial

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// file makes a notebook's file with these cells.
func file(t *testing.T, cells ...string) *Notebook {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"cells": [`)
	for i, c := range cells {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b,
			`{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": %q}`, c)
	}
	b.WriteString(`], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`)
	n, err := Read("/x/a.ipynb", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func sources(n *Notebook) string {
	var all []string
	for _, c := range n.Cells {
		all = append(all, c.Source)
	}
	return strings.Join(all, "|")
}

// TestPatched: a diff of a file or of cells is applied where its old lines are, also if these have moved.
func TestPatched(t *testing.T) {
	n := file(t, "a = 1\nb = 2\nc = 3", "a = 1", "", "x\ny\nz\ny\nw")
	for _, c := range []struct{ name, patch, want string }{
		{"by In[N]", "--- In[1]\n+++ In[1]\n@@ -2,2 +2,3 @@\n b = 2\n-c = 3\n+c = 4\n+del b\n",
			"a = 1\nb = 2\nc = 4\ndel b|a = 1|x\ny\nz\ny\nw"},
		{"cells without code have no number", "--- cell 3\n+++ cell 3\n@@ -1 +1 @@\n-x\n+X\n",
			"a = 1\nb = 2\nc = 3|a = 1|X\ny\nz\ny\nw"},
		{"the nearest of two places", "--- In[3]\n+++ In[3]\n@@ -5,1 +5,1 @@\n-y\n+Y\n",
			"a = 1\nb = 2\nc = 3|a = 1|x\ny\nz\nY\nw"},
		{"the cell that has the lines", "--- before\n+++ after\n@@ -1,2 +1 @@\n-b = 2\n c = 3\n",
			"a = 1\nc = 3|a = 1|x\ny\nz\ny\nw"},
		{"an insertion", "--- In[2]\n+++ In[2]\n@@ -0,0 +1,1 @@\n+first\n",
			"a = 1\nb = 2\nc = 3|first\na = 1|x\ny\nz\ny\nw"},
		{"of the file", "--- a/a.ipynb\n+++ b/a.ipynb\n@@ -1 +1 @@\n" +
			"-" + string(n.Text) + "\n\\ No newline at end of file\n" +
			"+" + strings.Replace(string(n.Text), `"a = 1"`, `"a = 5"`, 1) + "\n\\ No newline at end of file\n",
			"a = 1\nb = 2\nc = 3|a = 5|x\ny\nz\ny\nw"},
		{"of no cell", "--- In[9]\n+++ In[9]\n@@ -1 +1 @@\n-x\n+X\n", "!3 cells with code"},
		{"of two cells", "--- q\n+++ q\n@@ -1 +1 @@\n-a = 1\n+a = 2\n", "!in the cells 1 and 2"},
		{"other lines", "--- In[1]\n+++ In[1]\n@@ -1 +1 @@\n-no\n+X\n", "!are not there"},
		{"lines missing", "--- In[1]\n+++ In[1]\n@@ -1,3 +1 @@\n-a = 1\n", "!ends within"},
		{"lines too many", "--- In[1]\n+++ In[1]\n@@ -1,2 +1 @@\n-a = 1\nq\n", "!number of lines"},
		{"no diff", "hello\n", "!no unified diff"},
	} {
		got, err := n.Patched([]byte(c.patch))
		message, refused := strings.CutPrefix(c.want, "!")
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), message)):
			t.Errorf("%s: %v", c.name, err)
		case !refused && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !refused && sources(got) != c.want:
			t.Errorf("%s: %q", c.name, sources(got))
		}
	}
	if _, err := n.Patched(make([]byte, maxPatch+1)); err == nil {
		t.Error("a patch of any size")
	}
}

// TestScriptKeepsOtherText: only the changed cell of a script changes, and cells of prose do not run.
func TestScriptKeepsOtherText(t *testing.T) {
	const text = "#!/usr/bin/env python\nimport os\n\n# %% [markdown]\n# prose\n\n" +
		"# %%\nx = 1\ny = 2\n\n\n# %% last\nprint(x)\n"
	n, err := Read("a.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := sources(n); got != "#!/usr/bin/env python\nimport os|x = 1\ny = 2|print(x)" {
		t.Errorf("%q", got)
	}
	changed, err := n.With(map[int]string{1: "x = 1\ndel x"})
	if err != nil || string(changed.Text) != strings.Replace(text, "y = 2", "del x", 1) {
		t.Errorf("%v\n%s", err, changed.Text)
	}
	changed, err = n.Patched([]byte("--- a.py\n+++ a.py\n@@ -13 +13 @@\n-print(x)\n+print(y)\n"))
	if err != nil || sources(changed) != "#!/usr/bin/env python\nimport os|x = 1\ny = 2|print(y)" {
		t.Errorf("%v %q", err, sources(changed))
	}
}

// TestScriptHead: comments before the first cell are no cell, so that cells have the kernel's numbers.
func TestScriptHead(t *testing.T) {
	for head, want := range map[string]string{
		"# Prose.\n\n# More.\n": "x = 1|y = 2", "": "x = 1|y = 2", "import os\n# why\n": "import os\n# why|x = 1|y = 2",
	} {
		n, err := Read("a.py", []byte(head+"# %%\nx = 1\n# %%\ny = 2\n"))
		if err != nil || sources(n) != want {
			t.Fatalf("%q: %v %q", head, err, sources(n))
		}
		changed, err := n.With(map[int]string{len(n.Cells) - 1: "y = 3"})
		if err != nil || string(changed.Text) != head+"# %%\nx = 1\n# %%\ny = 3\n" {
			t.Errorf("%v\n%s", err, changed.Text)
		}
	}
}

// TestEditsGoToTheCellThatRan: edits go to the cell that ran, the last line first, and never twice to a line.
func TestEditsGoToTheCellThatRan(t *testing.T) {
	n := file(t, "a\nb\nc", "d")
	ran := func(execution int) int { return execution - 2 } // of a run whose first execution was none of the cells
	item := func(number int, edits ...model.AdviceEdit) model.AdviceItem {
		return model.AdviceItem{Number: number, Edits: edits}
	}
	replace := model.AdviceEdit{Execution: 2, StartLine: 2, EndLine: 2, Text: "B\nB2"}
	insert := model.AdviceEdit{Execution: 2, StartLine: 4, EndLine: 3, Text: "del a"}
	drop := model.AdviceEdit{Execution: 2, StartLine: 1, EndLine: 1, Delete: true}
	got, err := n.Edited([]model.AdviceItem{item(1, insert, replace), item(2, drop)}, ran)
	if err != nil || sources(got) != "B\nB2\nc\ndel a|d" {
		t.Errorf("%v %q", err, sources(got))
	}
	want := "--- In[1]\n+++ In[1]\n@@ -1,3 +1,4 @@\n-a\n-b\n+B\n+B2\n c\n+del a\n"
	if diff := n.Diff(got); !strings.HasPrefix(diff, "--- In[1]\n") || strings.Contains(diff, "In[2]") {
		t.Errorf("%s\nwant about\n%s", diff, want)
	}
	again, err := n.Patched([]byte(n.Diff(got)))
	if err != nil || sources(again) != sources(got) {
		t.Errorf("its own diff makes %v %q", err, sources(again))
	}
	if _, err := n.Edited([]model.AdviceItem{item(1, replace), item(2, replace)}, ran); !errors.Is(err, errOverlap) {
		t.Errorf("one line twice: %v", err)
	}
	for _, wrong := range []model.AdviceEdit{
		{Execution: 4, StartLine: 1, EndLine: 1}, {Execution: 1, StartLine: 1, EndLine: 1},
		{Execution: 2, StartLine: 0, EndLine: 0}, {Execution: 2, StartLine: 3, EndLine: 4},
		{Execution: 2, StartLine: 9, EndLine: 8}, {Execution: 2, StartLine: 3, EndLine: 1},
		{Execution: 2, StartLine: -1 << 62, EndLine: 1 << 62},
	} {
		if got, err := n.Edited([]model.AdviceItem{item(7, wrong)}, ran); err == nil {
			t.Errorf("%+v made %q", wrong, sources(got))
		}
	}
	if _, err := n.Edited([]model.AdviceItem{item(7)}, ran); err == nil {
		t.Error("advice without a change was tried")
	}
}

// TestEditedElsewhere: edits of advice for another session go to the cell with the source that they were made for. Of
// several such cells, it is the cell with the number of the execution. A cell that has changed since gets none.
func TestEditedElsewhere(t *testing.T) {
	n := file(t, "a", "b\nc", "a", "d")
	edit := func(execution int, source string) model.AdviceItem {
		return model.AdviceItem{Number: 1, Edits: []model.AdviceEdit{{Execution: execution, StartLine: 1, EndLine: 1,
			Text: "x", SourceSHA256: model.SourceDigest(source)}}}
	}
	for _, c := range []struct {
		execution int
		source    string
		want      string
	}{
		{7, "b\nc\n", "a|x\nc|a|d"}, {3, "a", "a|b\nc|x|d"}, {2, "a", "x|b\nc|a|d"}, {1 << 40, "d", "a|b\nc|a|x"},
	} {
		got, err := n.Edited([]model.AdviceItem{edit(c.execution, c.source)}, nil)
		if err != nil || sources(got) != c.want {
			t.Errorf("%d %q: %v %q, want %q", c.execution, c.source, err, sources(got), c.want)
		}
	}
	old := edit(2, "b")
	if got, err := n.Edited([]model.AdviceItem{old}, nil); err == nil {
		t.Errorf("a cell that has changed: %q", sources(got))
	}
	old.Edits[0].SourceSHA256 = ""
	if got, err := n.Edited([]model.AdviceItem{old}, nil); err == nil {
		t.Errorf("no digest: %q", sources(got))
	}
}

// TestHostileNotebooks: a file that is no notebook is refused with a sentence, whatever is in it.
func TestHostileNotebooks(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for name, text := range map[string]string{
		"empty": "", "no cells": `{"nbformat": 4, "cells": []}`, "deep": deep,
		"deep metadata": `{"nbformat": 4, "cells": [], "metadata": ` + strings.Repeat("[", 5000) +
			strings.Repeat("]", 5000) + `}`,
		"no text": `{"nbformat": 4, "cells": [{"cell_type": "code", "source": 5, "metadata": {}, "outputs": []}]}`,
		"bytes":   "\xff\xfe",
	} {
		if n, err := Read("a.ipynb", []byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, n.Cells)
		}
	}
}

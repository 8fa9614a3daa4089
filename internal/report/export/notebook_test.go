package export_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// page is a notebook as Jupyter writes it: one space, keys in order, characters as they are.
const page = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a",
   "metadata": {},
   "source": [
    "# Ünïcode \u00e9 \\ \"quoted\""
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "b",
   "metadata": {},
   "outputs": [],
   "source": [
    "import numpy as np\n",
    "import pandas as pd"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 99,
   "id": "c",
   "metadata": {
    "tags": [
     "parameters"
    ],   "odd" :  1.50e0
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "]}\u00e9 ,"
     ]
    }
   ],
   "source": "raise MemoryError('no room')"
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "d",
   "metadata": {},
   "outputs": [],
   "source": [
    "never_run()"
   ]
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func parse(t *testing.T, text string) *export.Notebook {
	t.Helper()
	n, err := export.ParseNotebook([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

type cells struct {
	Cells []struct {
		Metadata map[string]json.RawMessage
		Outputs  []map[string]any
		Source   any
	}
}

func read(t *testing.T, text []byte) (all cells) {
	t.Helper()
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all
}

// layouts returns the same notebook in the layouts of other programs.
func layouts(t *testing.T) map[string]string {
	t.Helper()
	var compact, wide bytes.Buffer
	if err := json.Compact(&compact, []byte(page)); err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&wide, []byte(page), "", "    "); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"jupyter": page, "compact": compact.String(), "wide": wide.String(),
		"crlf": strings.ReplaceAll(page, "\n", "\r\n"), "tabs": strings.ReplaceAll(wide.String(), "    ", "\t"),
	}
}

func TestIntoAndOut(t *testing.T) {
	r := reporttest.Rich()
	for name, text := range layouts(t) {
		for _, outputs := range []bool{false, true} {
			into := parse(t, text).Into(r, outputs)
			if into.Cells != 3 || into.Written != 2 || len(into.Without) != 1 || into.Without[0].Cell != 4 {
				t.Errorf("%s: %+v", name, into)
			}
			all := read(t, into.Text)
			for i, execution := range map[int]int{1: 1, 2: 4} {
				w := cellOf(r, execution)
				var got struct {
					Execution int
					Meters    map[string]struct{ Need, Consumed, Peak, Total int64 }
				}
				if err := json.Unmarshal(all.Cells[i].Metadata["ipytracer"], &got); err != nil {
					t.Fatalf("%s: %v\n%s", name, err, into.Text)
				}
				f, g := w.Meters["cpu.resident"], got.Meters["cpu.resident"]
				if got.Execution != execution || g.Need != f.Need() || g.Consumed != f.Consumed || g.Peak != f.Peak ||
					g.Total != f.End {
					t.Errorf("%s: %+v", name, got)
				}
				if n := len(all.Cells[i].Outputs); n != i-1+map[bool]int{true: 1}[outputs] {
					t.Errorf("%s: %d outputs under cell %d", name, n, i)
				}
			}
			if again := parse(t, string(into.Text)).Into(r, outputs); !bytes.Equal(again.Text, into.Text) {
				t.Errorf("%s: a second time changes it:\n%s", name, again.Text)
			}
			if back := parse(t, string(into.Text)).Remove(); string(back.Text) != text || back.Removed != 2 {
				t.Errorf("%s: what is taken out is not what was put in:\n%s", name, back.Text)
			}
			if bare := parse(t, string(into.Text)).Into(r, false); strings.Contains(string(bare.Text), "<table>") {
				t.Errorf("%s: outputs stay", name)
			}
			if none := parse(t, string(into.Text)).Into(reporttest.Empty(), true); string(none.Text) != text {
				t.Errorf("%s: figures of another session stay:\n%s", name, none.Text)
			}
		}
	}
}

func cellOf(r *model.Report, execution int) *model.Window {
	for i := range r.Windows {
		if r.Windows[i].Execution == execution && r.Windows[i].Kind == model.Cell {
			return &r.Windows[i]
		}
	}
	return nil
}

// TestLaidOutAsJupyterDoes: inserted parts have Jupyter's layout, so that a notebook that is saved again differs in the
// order of keys at most.
func TestLaidOutAsJupyterDoes(t *testing.T) {
	into := parse(t, page).Into(reporttest.Rich(), true).Text
	var plain any
	if err := json.Unmarshal(into, &plain); err != nil {
		t.Fatal(err)
	}
	const metadata = "\n   \"metadata\": {\n    \"ipytracer\": {\n     \"schema\": \"ipytracer/cell/v1\",\n"
	if !strings.Contains(string(into), metadata) {
		t.Errorf("%s", into)
	}
	if !strings.Contains(string(into), "\n   \"outputs\": [\n    {\n     \"data\": {\n") {
		t.Errorf("%s", into)
	}
}

// TestWhichRun: cells with one source are distinguished by their In[N], or by their order, or not at all.
func TestWhichRun(t *testing.T) {
	cellText := func(count string) string {
		return `{"cell_type":"code","execution_count":` + count +
			`,"id":"x","metadata":{},"outputs":[],"source":"step()"}`
	}
	r := reporttest.Empty()
	for i := range 3 {
		w := reporttest.CellWindow(10+i, 5+i, "step()\n")
		w.Meters = reporttest.All(reporttest.Fig(0, int64(i+1)<<20, 0), reporttest.Fig(0, 0, 0),
			reporttest.Fig(0, 0, 0))
		r.Windows = append(r.Windows, w)
	}
	for _, c := range []struct {
		counts []string
		runs   []float64
	}{
		{[]string{"null"}, []float64{7}},
		{[]string{"6"}, []float64{6}},
		{[]string{"6", "5"}, []float64{6, 5}},
		{[]string{"null", "null", "null"}, []float64{5, 6, 7}},
		{[]string{"null", "null"}, []float64{0, 0}},
		{[]string{"null", "7"}, []float64{0, 7}},
	} {
		var texts []string
		for _, count := range c.counts {
			texts = append(texts, cellText(count))
		}
		into := parse(t,
			`{"cells":[`+strings.Join(texts, ",")+`],"metadata":{},"nbformat":4,"nbformat_minor":5}`).Into(r, false)
		var got []float64
		for _, one := range read(t, into.Text).Cells {
			var of map[string]any
			if one.Metadata["ipytracer"] != nil {
				if err := json.Unmarshal(one.Metadata["ipytracer"], &of); err != nil {
					t.Fatal(err)
				}
			}
			n, _ := of["execution"].(float64)
			got = append(got, n)
		}
		if !reflect.DeepEqual(got, c.runs) {
			t.Errorf("%v: runs %v, not %v (%v)", c.counts, got, c.runs, into.Without)
		}
	}
}

// TestRefused: a file that is no notebook of format 4 stays untouched.
func TestRefused(t *testing.T) {
	for _, text := range []string{
		"", "x", "[]", "1", "{}", `"cells"`, `{"cells":[]}`, `{"cells":{},"nbformat":4}`, `{"cells":[1],"nbformat":4}`,
		`{"nbformat":4}`, `{"cells":[],"nbformat":3}`, `{"worksheets":[],"nbformat":3}`,
		`{"cells":[{"cell_type":"code"}],"nbformat":4}`,
		`{"cells":[{"cell_type":"code","metadata":[],"outputs":[]}],"nbformat":4}`,
		`{"cells":[{"cell_type":"code","metadata":{},"outputs":{}}],"nbformat":4}`,
		page[:len(page)-5], page + "x", strings.Repeat("[", 600) + strings.Repeat("]", 600),
		"{\"cells\":[],\"nbformat\":4,\"x\":\"\xff\"}",
	} {
		if _, err := export.ParseNotebook([]byte(text)); err == nil {
			t.Errorf("%.60q is taken for a notebook", text)
		}
	}
	for _, text := range []string{
		`{"cells":[],"nbformat":4}`, `{"cells":[{}],"nbformat":4}`,
		`{"nbformat":4,"cells":[{"cell_type":"code","metadata":{},"outputs":[],"source":5}]}`,
	} {
		if n, err := export.ParseNotebook([]byte(text)); err != nil ||
			string(n.Into(reporttest.Hostile(), true).Text) != text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzNotebook: for any file, the figures are inserted and removed without a trace, or the file is refused.
func FuzzNotebook(f *testing.F) {
	f.Add(page)
	f.Add(`{"cells":[{"cell_type":"code","metadata":{"ipytracer":1,"ipytracer":2},` +
		`"outputs":[{"metadata":{"ipytracer":{}}}],"source":"raise MemoryError('no room')"}],"nbformat":4}`)
	for _, part := range partsOfNotebook {
		for _, text := range hostile.JSON(512, part[0], part[1]) {
			f.Add(text)
		}
	}
	r := reporttest.Rich()
	hostile.Fuzz(f, 64<<20, func(t *testing.T, text string) {
		n, err := export.ParseNotebook([]byte(text))
		if err != nil {
			return
		}
		bare := n.Remove().Text
		if !json.Valid(bare) {
			t.Fatalf("%s", bare)
		}
		n, err = export.ParseNotebook(bare)
		if err != nil {
			t.Fatal(err)
		}
		into := n.Into(r, true)
		if !json.Valid(into.Text) {
			t.Fatalf("%s", into.Text)
		}
	})
}

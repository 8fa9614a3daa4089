package export_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/export"
)

const sourced = `{
 "cells": [
  {
   "cell_type": "markdown", "metadata": {}, "source": ["text"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "metadata": {"tags": ["raises-exception"]},
   "outputs": [],
   "source": [
    "raw = load()\n",
    "raw.sum()"
   ]
  },
  {"cell_type": "code", "execution_count": null, "metadata": {"tags": ["skip-execution"]}, "outputs": [],
   "source": "a < b\nc"}
 ],
 "metadata": {"kernelspec": {"name": "science", "language": "python"}},
 "nbformat": 4, "nbformat_minor": 5
}
`

// TestSources: a source is replaced in the layout of the old one, and no other byte changes.
func TestSources(t *testing.T) {
	n, err := export.ParseNotebook([]byte(sourced))
	if err != nil {
		t.Fatal(err)
	}
	want := []export.CodeCell{
		{Number: 2, Source: "raw = load()\nraw.sum()", MayFail: true}, {Number: 3, Source: "a < b\nc", Skipped: true},
	}
	if got := n.Codes(); !slices.Equal(got, want) || n.Kernel() != "science" {
		t.Errorf("%+v of kernel %q", got, n.Kernel())
	}
	if same := n.WithSources(map[int]string{0: want[0].Source}); !bytes.Equal(same, []byte(sourced)) {
		t.Errorf("the same source made another notebook:\n%s", same)
	}
	got := string(n.WithSources(map[int]string{0: "raw = load()\nraw.sum()\ndel raw\n", 1: "a > \"b\"\n"}))
	changed := strings.NewReplacer(
		`"raw.sum()"`, "\"raw.sum()\\n\",\n    \"del raw\\n\"", `"a < b\nc"`, `"a > \"b\"\n"`)
	if want := changed.Replace(sourced); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again, err := export.ParseNotebook([]byte(got)); err != nil || again.Codes()[1].Source != "a > \"b\"\n" {
		t.Errorf("%v, %+v", err, again)
	}
}

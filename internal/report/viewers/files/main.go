// Files writes the input of the tests in other tools: the fixtures of internal/report/reporttest in every format that
// another tool reads, each beside the JSON of the same report. The comparisons are in internal/report/viewers/test.
//
//	go run ./internal/report/viewers/files DIR
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"

	"ipytracer/attribution"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/notebook"
	"ipytracer/internal/report/profile"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/torchviz"
	"ipytracer/internal/report/trace"
	"ipytracer/model"
	"ipytracer/report"
)

// formats are those for tools beside Go's and Python's libraries; the packages' own tests have the others.
var formats = map[string]func(io.Writer, *model.Report) error{
	".json": report.JSON, ".pb.gz": profile.Pprof, ".pftrace": trace.Perfetto, ".pickle": torchviz.Print,
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: files DIR")
	}
	for name, make := range reporttest.Reports {
		write(os.Args[1], name, make())
	}
	tracker := attribution.New()
	attributiontest.Notebook(tracker.Add, 60, 4)
	write(os.Args[1], "session", tracker.Stream())
	write(os.Args[1], "lines", reporttest.WithLines())
	poisoned := reporttest.WithLines()
	reporttest.Poison(poisoned)
	write(os.Args[1], "markup", poisoned)
	write(os.Args[1], "wild", reporttest.Wild())
	write(os.Args[1], "gpus", reporttest.OnGPUs(reporttest.Rich()))
	notebooks(os.Args[1])
	write(os.Args[1], "gpus-hostile", reporttest.OnGPUs(reporttest.Hostile()))
}

func write(folder, name string, r *model.Report) {
	for ending, print := range formats {
		var b bytes.Buffer
		err := print(&b, r)
		if errors.Is(err, torchviz.ErrNoGPU) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+ending), b.Bytes(), 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// ran are the cells of a session that was interrupted in its last cell, and the later cells of its notebook.
var ran = []string{"x = list(range(1000))\nlen(x)", "print('out')", "print('out')", "1 / 0"}

// notebooks writes notebooks with the figures of a session in them: with ids, without, and of the same sources.
func notebooks(folder string) {
	r := reporttest.Empty()
	for i, source := range ran {
		w := reporttest.CellWindow(10+i, i+1, source)
		w.Meters = map[string]model.Figure{
			"cpu.resident": reporttest.Fig(1<<20, int64(i+3)<<20, 2<<20),
			"cpu.numpy":    reporttest.Fig(0, int64(i+1)<<10, 0),
		}
		r.Windows = append(r.Windows, w)
	}
	r.Windows[3].Status, r.Windows[3].Note = model.Interrupted, "the session ended here"
	write(folder, "cells", r)
	for name, minor := range map[string]int{"ids": 5, "plain": 4} {
		cells := []map[string]any{
			{"cell_type": "markdown", "metadata": map[string]any{}, "source": []string{"# a title"}, "id": "title"},
		}
		for i, source := range append(ran, "never = 'run'") {
			cell := map[string]any{
				"cell_type": "code", "metadata": map[string]any{"tags": []string{"kept"}}, "source": source,
				"outputs": []any{}, "execution_count": nil, "id": string(rune('a' + i)),
			}
			if i < len(ran) {
				cell["execution_count"] = i + 1
			}
			cells = append(cells, cell)
		}
		if minor < 5 {
			for _, cell := range cells {
				delete(cell, "id")
			}
		}
		text, err := json.MarshalIndent(map[string]any{
			"cells": cells, "nbformat": 4, "nbformat_minor": minor, "metadata": map[string]any{
				"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3", "language": "python"}},
		}, "", " ")
		check(err)
		n, err := notebook.Parse(text)
		check(err)
		found := n.Into(r, true)
		if found.Written != len(ran) {
			log.Fatalf("%d cells of %s have figures: %+v", found.Written, name, found.Without)
		}
		check(os.WriteFile(filepath.Join(folder, name+".ipynb"), found.Text, 0o644))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

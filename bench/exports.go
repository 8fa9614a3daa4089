package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"

	"ipytracer/attribution"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// formats are the formats that need tools other than libraries of Go and Python. Tests of the packages have the others.
var formats = map[string]func(io.Writer, *model.Report) error{
	".json": report.JSON, ".pb.gz": export.Pprof, ".pftrace": export.Perfetto, ".pickle": export.Snapshot,
}

// exports writes the fixtures in every format that another tool reads.
func exports(arguments []string) {
	folder := folderOf(arguments)
	for name, make := range reporttest.Reports {
		writeExports(folder, name, make())
	}
	tracker := attribution.New()
	attributiontest.Notebook(tracker.Add, 60, 4)
	writeExports(folder, "session", tracker.Stream())
	writeExports(folder, "lines", reporttest.WithLines())
	poisoned := reporttest.WithLines()
	reporttest.Poison(poisoned)
	writeExports(folder, "markup", poisoned)
	writeExports(folder, "wild", reporttest.Wild())
	writeExports(folder, "gpus", reporttest.OnGPUs(reporttest.Rich()))
	writeExports(folder, "gpus-hostile", reporttest.OnGPUs(reporttest.Hostile()))
	notebooks(folder)
}

// writeExports writes one report in all formats; without a GPU not as a snapshot.
func writeExports(folder, name string, report *model.Report) {
	for ending, print := range formats {
		var out bytes.Buffer
		err := print(&out, report)
		if errors.Is(err, export.ErrNoGPU) {
			continue
		}
		check(err)
		put(folder, name+ending, out.Bytes())
	}
}

// ran are the sources of the cells of a session that was interrupted in its last cell.
var ran = []string{"x = list(range(1000))\nlen(x)", "print('out')", "print('out')", "1 / 0"}

// notebooks writes two notebooks with the figures of a session in them: one whose cells have ids, and one without ids.
func notebooks(folder string) {
	report := reporttest.Empty()
	for i, source := range ran {
		window := reporttest.CellWindow(10+i, i+1, source)
		window.Meters = map[string]model.Figure{
			"cpu.resident": reporttest.Fig(1<<20, int64(i+3)<<20, 2<<20),
			"cpu.numpy":    reporttest.Fig(0, int64(i+1)<<10, 0),
		}
		report.Windows = append(report.Windows, window)
	}
	report.Windows[3].Status, report.Windows[3].Note = model.Interrupted, "the session ended here"
	writeExports(folder, "cells", report)
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
		n, err := export.ParseNotebook(text)
		check(err)
		found := n.Into(report, true)
		if found.Written != len(ran) {
			log.Fatalf("%d cells of %s have figures: %+v", found.Written, name, found.Without)
		}
		put(folder, name+".ipynb", found.Text)
	}
}

package selftest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"ipytracer/cmd/tracer/internal/workload"
	"ipytracer/internal/host/invoker"
	"ipytracer/model"
	"ipytracer/tracer"
)

// cellRun is the output of the traced IPython.
type cellRun struct {
	report *model.Report
	truths map[string]cellTruth
}

// cellTruth has a cell's own readings at its peak.
type cellTruth struct {
	Mapped   int64 `json:"mapped"`   // VmData of /proc/self/status
	Resident int64 `json:"resident"` // Rss of /proc/self/smaps_rollup, a walk of the page tables
	Data     int64 `json:"data"`     // nbytes, or the least that malloc takes
}

// cellScript has a cell in each line. A line that ends in a backslash goes on in the next one.
//
//go:embed cells.py
var cellScript string

// continued is the end of a line that goes on in the next one, with the indentation of that.
var continued = regexp.MustCompile(` *\\\n *`)

// traceCells runs the script under the tracer. IPython reads it line by line from standard input, each line a cell. It
// has a directory of its own, without any user's start-up files and history.
func (t *selftest) traceCells(ctx context.Context, python *Python) (*cellRun, error) {
	who, err := invoker.Find()
	if err != nil {
		return nil, err
	}
	rights, err := who.Rights()
	if err != nil {
		return nil, err
	}
	defer rights.Close()
	var dir string
	var in *os.File
	err = rights.Do(func() (err error) {
		if dir, err = os.MkdirTemp("", "tracer-selftest-"); err == nil {
			in, err = cellInput(dir)
		}
		return err
	})
	defer func() { _ = rights.Do(func() error { return os.RemoveAll(dir) }) }()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.Command(python.Path, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit",
		"--colors=NoColor", "--HistoryManager.enabled=False")
	if err := who.Dress(cmd); err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "IPYTHONDIR="+dir, "PYTHONSTARTUP=", "OPENBLAS_NUM_THREADS=1", "MALLOC_ARENA_MAX=1",
		"TERM=dumb")
	cmd.Dir, cmd.Stdin = dir, in
	text, r, err := traceCommand(ctx, cmd, tracer.Options{Version: t.Tracer, Budget: -1})
	if err != nil {
		return nil, err
	}
	run := &cellRun{report: r, truths: map[string]cellTruth{}}
	if err := json.Unmarshal(text, &run.truths); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: the cells reported %.200q", workload.ErrNoTruth, text), err)
	}
	return run, nil
}

// cellInput writes the cells to a file to read them from.
func cellInput(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "cells")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(continued.ReplaceAllString(cellScript, " "))
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// cell returns the last execution of the cell with this text.
func (r *cellRun) cell(text string) (*model.Window, error) {
	for i := len(r.report.Windows) - 1; i >= 0; i-- {
		if w := &r.report.Windows[i]; w.Kind == model.Cell && strings.HasPrefix(w.Source, text) {
			if w.Status != model.OK {
				return nil, fmt.Errorf("%w: the cell %q ended with status %s", ErrFailed, text, w.Status)
			}
			return w, nil
		}
	}
	cells, bare := 0, 0
	for _, w := range r.report.Windows {
		if w.Kind == model.Cell {
			cells++
			if w.Source == "" {
				bare++
			}
		}
	}
	return nil, fmt.Errorf("%w: the cell %q is not among the %d of the report (%d without source)",
		ErrFailed, text, cells, bare)
}

func (r *cellRun) statements() (out []*model.Window) {
	for i := range r.report.Windows {
		if w := &r.report.Windows[i]; w.Kind == model.Statement {
			out = append(out, w)
		}
	}
	return out
}

// children returns the statements of a cell, in order.
func (r *cellRun) children(cell *model.Window) (out []*model.Window) {
	for _, w := range r.statements() {
		if w.Parent == cell.ID {
			out = append(out, w)
		}
	}
	return out
}

func (r *cellRun) experiment(name string) (*model.Window, error) {
	for i := range r.report.Windows {
		if w := &r.report.Windows[i]; w.Kind == model.Experiment && w.Name == name {
			return w, nil
		}
	}
	return nil, fmt.Errorf("%w: the experiment %q is not in the report", ErrFailed, name)
}

package doctor

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"ipytracer/internal/host/privileges"
	"ipytracer/internal/report/escape"
	"ipytracer/model"
	"ipytracer/tracer"
)

// cellRun is the report and the output of a traced IPython.
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

// cellScript has a cell in each line. A line that ends in a backslash continues in the next one.
//
//go:embed cells.py
var cellScript string

// continued matches the end of a line that continues in the next one, with the next line's indentation.
var continued = regexp.MustCompile(` *\\\n *`)

// traceCells runs the script in a traced IPython, which reads each line from standard input as a cell. IPython gets a
// new directory, so that it does not read the user's start-up files and history.
func (t *selftest) traceCells(ctx context.Context, python *CellPython) (*cellRun, error) {
	who, err := privileges.FindInvoker()
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
	text, r, err := traceCommand(ctx, cmd, tracer.Options{Version: t.Tracer, Budget: -1, Copies: true})
	if err != nil {
		return nil, err
	}
	run := &cellRun{report: r, truths: map[string]cellTruth{}}
	if err := json.Unmarshal(text, &run.truths); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: the cells reported %.200q", ErrNoTruth, text), err)
	}
	return run, nil
}

// cellInput writes the cells to a file, and returns it open for reading.
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

// windows returns the windows of a kind, in order.
func (r *cellRun) windows(kind string) (windows []*model.Window) {
	for i := range r.report.Windows {
		if w := &r.report.Windows[i]; w.Kind == kind {
			windows = append(windows, w)
		}
	}
	return windows
}

// cell returns the last execution of the cell whose source begins with text.
func (r *cellRun) cell(text string) (*model.Window, error) {
	cells, sourceless := r.windows(model.Cell), 0
	for _, w := range slices.Backward(cells) {
		switch {
		case strings.HasPrefix(w.Source, text) && w.Status != model.OK:
			return nil, fmt.Errorf("%w: the cell %q ended with status %s", ErrSelftest, text, w.Status)
		case strings.HasPrefix(w.Source, text):
			return w, nil
		case w.Source == "":
			sourceless++
		}
	}
	return nil, fmt.Errorf("%w: the cell %q is not among the %d of the report (%d without source)",
		ErrSelftest, text, len(cells), sourceless)
}

// compareCells runs cells of known truth in a real IPython, as the invoking user, and compares their figures.
func (t *selftest) compareCells(ctx context.Context) error {
	found := t.Python
	if found == nil {
		t.note("no cells were compared: no Python with IPython was found; name one with --python")
		return nil
	}
	t.result.Python = found.Path
	t.printf("\n%s: Python %s, IPython %s, NumPy %s\n\n",
		escape.Text(found.Path), escape.Text(found.Version), escape.Text(found.IPython), orNone(found.NumPy))
	stopProgress := t.progress("cells")
	run, err := t.traceCells(ctx, found)
	stopProgress()
	if err != nil {
		return fmt.Errorf("cells of %s: %w", found.Path, err)
	}
	for _, test := range cellTests {
		switch _, hasTruth := run.truths[test.truth]; {
		case test.needsNumPy && found.NumPy == "":
			continue
		case test.statements && len(run.windows(model.Statement)) == 0:
			t.note("%s: this Python has no place for statement probes", test.name)
			continue
		case test.truth != "" && !hasTruth:
			t.note("%s", test.without)
			continue
		}
		err := t.step(&t.result.Cells, test.name, test.about, func() (Test, error) { return test.compare(run) })
		if err != nil {
			return err
		}
	}
	return checkCertificate(run.report, false)
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return escape.Text(version)
}

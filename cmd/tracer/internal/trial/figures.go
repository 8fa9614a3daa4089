package trial

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/model"
)

// Figures are the memory of a run's cells, from the tracer's report.
type Figures struct {
	Cells []Window // the window of each of the notebook's cells; ID 0 for a cell without one
	Host  model.Host
	PID   int // the kernel's process
}

// Window has the fields of a report's window that a trial needs.
type Window struct {
	ID              int                     `json:"id"`
	Parent          int                     `json:"parent"`
	PID             int                     `json:"pid"`
	Kind            string                  `json:"kind"`
	Silent          bool                    `json:"silent"`
	Execution       int                     `json:"execution"`
	Source          string                  `json:"source"`
	SourceTruncated bool                    `json:"source_truncated"`
	Meters          map[string]model.Figure `json:"meters"`
	Tree            map[string]model.Figure `json:"tree"`
}

// Together returns the figure of a meter for the process and its children together.
func (w *Window) Together(meter string) (model.Figure, bool) {
	if f, ok := w.Tree[meter]; ok {
		return f, true
	}
	f, ok := w.Meters[meter]
	return f, ok
}

// maxReport is the most bytes that are read of a report. Only the notebook's cells are kept in memory.
const maxReport = 4 << 30

var errNoReport = errors.New("the tracer's report of the run is not complete")

// maxMissing is the most cells in a row of which the report may have no window.
const maxMissing = 64

// readFigures reads a report in JSON.
func readFigures(from io.Reader, cells []Cell) (*Figures, error) {
	in := json.NewDecoder(bufio.NewReaderSize(io.LimitReader(from, maxReport), 256<<10))
	if _, err := in.Token(); err != nil {
		return nil, errNoReport
	}
	f := &Figures{Cells: make([]Window, len(cells))}
	found := false
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, errNoReport
		}
		switch key {
		case "host":
			err = in.Decode(&f.Host)
		case "windows":
			found, err = f.readWindows(in, cells)
		default:
			err = skip(in)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNoReport, err)
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, errNoReport
	}
	if !found {
		return nil, errors.New("the tracer has seen no cell of the notebook: is it a kernel that it can trace? " +
			"('tracer doctor' lists the Pythons)")
	}
	return f, nil
}

// readWindows reads the report's list of windows, and reports whether one is of a cell of the notebook. It finds the
// cells by their sources, in their order: the notebook's code can run cells of its own, also within a cell.
func (f *Figures) readWindows(in *json.Decoder, cells []Cell) (found bool, err error) {
	if _, err := in.Token(); err != nil { // [
		return false, err
	}
	next, seen := 0, map[int]bool{} // the first cell without a window; the IDs of windows of cells
	for in.More() {
		var w Window
		if err := in.Decode(&w); err != nil {
			return false, err
		}
		isNested, isOfOtherProcess := seen[w.Parent], f.PID != 0 && w.PID != f.PID
		if w.Kind != model.Cell || w.Silent || isNested || isOfOtherProcess {
			continue
		}
		seen[w.ID] = true
		if at := cellOf(cells[next:], &w); at >= 0 {
			f.Cells[next+at], f.PID = w, w.PID
			next += at + 1
		}
	}
	_, err = in.Token() // ]
	return next > 0, err
}

// cellOf returns the index of the first cell whose window w can be, -1 if none of the next maxMissing cells matches.
func cellOf(cells []Cell, w *Window) int {
	return slices.IndexFunc(cells[:min(len(cells), maxMissing)], func(c Cell) bool { return hasSource(w, c.Source) })
}

// hasSource reports whether a window is of a cell with this source.
func hasSource(w *Window, source string) bool {
	if w.SourceTruncated {
		return strings.HasPrefix(source, strings.ToValidUTF8(w.Source, ""))
	}
	return strings.TrimRight(w.Source, "\n") == strings.TrimRight(source, "\n")
}

// skip passes over one JSON value without keeping it in memory.
func skip(in *json.Decoder) error {
	for depth := 0; ; {
		token, err := in.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

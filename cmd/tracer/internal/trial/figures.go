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
	Cells []Window // of the notebook's cells that ran, in their order; ID 0 for a cell that has no window
	Host  model.Host
	PID   int // the kernel's process
}

// Window is what is read of a window of the report.
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

// maxMissing is the most cells in a row of which the report has no window.
const maxMissing = 64

// readFigures reads a report in JSON. Cells are found by their sources, in their order: the notebook's code can make
// cells of its own, within another one or not.
func readFigures(from io.Reader, cells []Cell) (*Figures, error) {
	in := json.NewDecoder(bufio.NewReaderSize(io.LimitReader(from, maxReport), 256<<10))
	if _, err := in.Token(); err != nil {
		return nil, errNoReport
	}
	f := &Figures{Cells: make([]Window, len(cells))}
	next, outer := 0, map[int]bool{}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, errNoReport
		}
		if key == "host" {
			if err := in.Decode(&f.Host); err != nil {
				return nil, fmt.Errorf("%w: %w", errNoReport, err)
			}
			continue
		}
		if key != "windows" {
			if err := skip(in); err != nil {
				return nil, fmt.Errorf("%w: %w", errNoReport, err)
			}
			continue
		}
		if _, err := in.Token(); err != nil {
			return nil, errNoReport
		}
		for in.More() {
			var w Window
			if err := in.Decode(&w); err != nil {
				return nil, fmt.Errorf("%w: %w", errNoReport, err)
			}
			if w.Kind != model.Cell || w.Silent || f.PID != 0 && w.PID != f.PID || outer[w.Parent] {
				continue
			}
			outer[w.ID] = true
			if at := cellOf(cells[next:], &w); at >= 0 {
				f.Cells[next+at], f.PID = w, w.PID
				next += at + 1
			}
		}
		if _, err := in.Token(); err != nil {
			return nil, errNoReport
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, errNoReport
	}
	if next == 0 {
		return nil, errors.New("the tracer has seen no cell of the notebook: is it a kernel that it can trace? " +
			"('tracer doctor' lists the Pythons)")
	}
	return f, nil
}

// cellOf returns the index of the first cell that a window is of, -1 if it is of none of the next ones.
func cellOf(cells []Cell, w *Window) int {
	return slices.IndexFunc(cells[:min(len(cells), maxMissing)], func(c Cell) bool { return ranIt(w, c.Source) })
}

// ranIt reports whether a window is of a cell.
func ranIt(w *Window, source string) bool {
	if w.SourceTruncated {
		return strings.HasPrefix(source, strings.ToValidUTF8(w.Source, ""))
	}
	return strings.TrimRight(w.Source, "\n") == strings.TrimRight(source, "\n")
}

// skip passes over one value, token by token.
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

// Package trial runs a notebook and changed copies of it in fresh kernels under the tracer, and compares results,
// values, peaks and times (docs/try.md).
//
// The caller decides whose rights files are opened with and as whom commands run. Everything that comes back from a
// run was made by the notebook's code, which may say anything: all of it is bounded, and none of it is believed but for
// the comparison that its user asked for. Figures of memory come from the tracer itself.
package trial

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ipytracer/internal/report/notebook"
)

// MaxCells is the most code cells of a notebook.
const MaxCells = 10_000

// Notebook is a notebook's file: one of Jupyter's, or a Python script with cells (# %%).
type Notebook struct {
	Name   string // of the file, without its folder
	Text   []byte
	Kernel string // that it asks for; "" if it asks for none
	Cells  []Cell // those that run
	jupyter
	script []string // parts of a script; those with even index are text between sources
}

// jupyter is a Jupyter notebook's file and the index of each cell in it; nil for a script.
type jupyter struct {
	file *notebook.Notebook
	at   []int
}

// Cell is a code cell that runs.
type Cell struct {
	Source  string
	MayFail bool // an error in it does not end the run
}

// Read reads a notebook from the text of its file.
func Read(path string, text []byte) (*Notebook, error) {
	n := &Notebook{Name: filepath.Base(path), Text: text}
	var err error
	switch filepath.Ext(path) {
	case ".py", ".ipy":
		err = n.readScript()
	default:
		err = n.readJupyter()
	}
	switch {
	case err != nil:
		return nil, err
	case len(n.Cells) == 0:
		return nil, errors.New("it has no cell with code")
	case len(n.Cells) > MaxCells:
		return nil, fmt.Errorf("it has %d cells with code, more than %d", len(n.Cells), MaxCells)
	}
	return n, nil
}

func (n *Notebook) readJupyter() (err error) {
	if n.file, err = notebook.Parse(n.Text); err != nil {
		return err
	}
	n.Kernel = n.file.Kernel()
	for i, c := range n.file.Codes() {
		if !c.Skipped && strings.TrimSpace(c.Source) != "" {
			n.Cells = append(n.Cells, Cell{c.Source, c.MayFail})
			n.at = append(n.at, i)
		}
	}
	return nil
}

// With returns the notebook with other sources in some of its cells, by their index in Cells.
func (n *Notebook) With(changed map[int]string) (*Notebook, error) {
	if n.file == nil {
		return Read(n.Name, n.scriptWith(changed))
	}
	inFile := map[int]string{}
	for i, source := range changed {
		inFile[n.at[i]] = source
	}
	return Read(n.Name, n.file.WithSources(inFile))
}

// Package trial runs a notebook and changed copies of it under the tracer, and compares them. The kernels are fresh.
// Results, values, peaks and times are compared (docs/try.md).
//
// The caller decides whose rights files are opened with and as whom commands run. Everything that comes back from a
// run was made by the notebook's code, which may say anything: all of it is bounded, and none of it is believed but for
// the comparison that its user asked for. Figures of memory come from the tracer itself.
package trial

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"ipytracer/internal/report/notebook"
)

// maxCells is the most code cells of a notebook.
const maxCells = 10_000

// Notebook is a notebook's file: one of Jupyter's, or a Python script with cells (# %%).
type Notebook struct {
	Name   string // of the file, without its folder
	Text   []byte // of the file
	Kernel string // the name of the kernel that the file asks for; "" for none
	Cells  []Cell // the code cells that run
	jupyter
	// script has the parts of a script: those of odd index are the sources of Cells, the others the text around them.
	script []string
}

// jupyter is the file of a Jupyter notebook. It is zero for a script.
type jupyter struct {
	file *notebook.Notebook
	at   []int // the index in file of each of Cells
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
	case len(n.Cells) > maxCells:
		return nil, fmt.Errorf("it has %d cells with code, more than %d", len(n.Cells), maxCells)
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

// With returns the notebook with the changed sources. The map's keys are indexes in Cells.
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

// marker matches the line that begins a cell of a script.
var marker = regexp.MustCompile(`^#\s*%%(.*)$`)

// comments matches a text that has only comments and empty lines.
var comments = regexp.MustCompile(`^(\s*(#.*)?\n)*\s*(#.*)?$`)

// readScript finds the cells of a script. A cell begins behind a line "# %%", and has no code if that line says
// [markdown], [md] or [raw]. The text before the first such line is a cell, too, unless it has only comments.
func (n *Notebook) readScript() error {
	if !utf8.Valid(n.Text) {
		return errors.New("it is not a text in UTF-8")
	}
	n.script = []string{""}
	var source strings.Builder
	isCode, isHead := true, true // of the part that is being read; the head is before the first marker
	endPart := func() {
		empty := strings.TrimSpace(source.String()) == ""
		onlyComments := isHead && comments.MatchString(source.String())
		if isCode && !empty && !onlyComments {
			n.Cells = append(n.Cells, Cell{Source: strings.TrimRight(source.String(), "\n")})
			kept := strings.TrimRight(source.String(), "\n")
			n.script = append(n.script, kept, source.String()[len(kept):])
		} else {
			n.script[len(n.script)-1] += source.String()
		}
		source.Reset()
	}
	for line := range strings.SplitAfterSeq(string(n.Text), "\n") {
		found := marker.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if found == nil {
			source.WriteString(line)
			continue
		}
		endPart()
		isHead = false
		n.script[len(n.script)-1] += line
		isCode = !strings.Contains(found[1], "[markdown]") && !strings.Contains(found[1], "[md]") &&
			!strings.Contains(found[1], "[raw]")
	}
	endPart()
	return nil
}

// scriptWith returns the script's text with the changed sources, as [Notebook.With] has them.
func (n *Notebook) scriptWith(changed map[int]string) []byte {
	var out strings.Builder
	for i, part := range n.script {
		isSource := i%2 == 1
		if source, ok := changed[i/2]; ok && isSource {
			part = strings.TrimRight(source, "\n")
		}
		out.WriteString(part)
	}
	return []byte(out.String())
}

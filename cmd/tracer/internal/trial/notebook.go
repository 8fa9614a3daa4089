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
	"regexp"
	"strings"
	"unicode/utf8"

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

// marker matches the line that begins a cell of a script.
var marker = regexp.MustCompile(`^#\s*%%(.*)$`)

// comments matches a text that has only comments and empty lines.
var comments = regexp.MustCompile(`^(\s*(#.*)?\n)*\s*(#.*)?$`)

// readScript finds the cells of a script: each begins behind a line "# %%", and the first at the beginning, unless it
// has only comments. A cell that the line names [markdown] or [raw] has no code.
func (n *Notebook) readScript() error {
	if !utf8.Valid(n.Text) {
		return errors.New("it is not a text in UTF-8")
	}
	n.script = []string{""}
	var source strings.Builder
	code, head := true, true
	end := func() {
		if code && strings.TrimSpace(source.String()) != "" && !(head && comments.MatchString(source.String())) {
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
		end()
		head = false
		n.script[len(n.script)-1] += line
		code = !strings.Contains(found[1], "[markdown]") && !strings.Contains(found[1], "[md]") &&
			!strings.Contains(found[1], "[raw]")
	}
	end()
	return nil
}

// scriptWith returns the script's text with other sources in some of its cells.
func (n *Notebook) scriptWith(changed map[int]string) []byte {
	var out strings.Builder
	for i, part := range n.script {
		if source, ok := changed[i/2]; ok && i%2 == 1 {
			part = strings.TrimRight(source, "\n")
		}
		out.WriteString(part)
	}
	return []byte(out.String())
}

package export

import (
	"bytes"
	"encoding/json"
	"strings"
)

// CodeCell is a code cell, with the source that would run.
type CodeCell struct {
	Number int // among all cells, from 1
	Source string
	// MayFail: an error of the cell does not end a run of the notebook (tag raises-exception).
	MayFail bool
	// Skipped: a run of the notebook leaves the cell out (tag skip-execution).
	Skipped bool
}

// Codes returns the code cells in their order.
func (n *Notebook) Codes() []CodeCell {
	codes := make([]CodeCell, 0, len(n.cells))
	for i := range n.cells {
		c := &n.cells[i]
		var tags []string
		n.read(c.entries, "tags", &tags)
		code := CodeCell{Number: c.number, Source: c.source}
		for _, tag := range tags {
			code.MayFail = code.MayFail || tag == "raises-exception"
			code.Skipped = code.Skipped || tag == "skip-execution"
		}
		codes = append(codes, code)
	}
	return codes
}

// WithSources returns the notebook's text with changed sources. The keys are indices in [Notebook.Codes]. Every other
// byte stays as it is.
func (n *Notebook) WithSources(changed map[int]string) []byte {
	var edits []edit
	for i := range n.cells {
		c := &n.cells[i]
		if source, ok := changed[i]; ok && source != c.source && c.where.to > 0 {
			edits = append(edits, edit{c.where, n.sourceText(c, source)})
		}
	}
	return n.applied(edits)
}

// sourceText returns a source as JSON: a list of lines or one text, as the old source is.
func (n *Notebook) sourceText(c *cell, source string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var value any = source
	if n.text[c.where.from] == '[' {
		lines := strings.SplitAfter(source, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		value = lines
		if c.indent != "" {
			e.SetIndent(strings.TrimLeft(c.indent, "\r\n"), c.unit)
		}
	}
	if err := e.Encode(value); err != nil {
		panic(err) // unreachable: the values are texts
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", lineEnd(c.indent))
}

// Kernel returns the name of the kernel that the notebook asks for; "" if it asks for none.
func (n *Notebook) Kernel() string { return n.kernel }

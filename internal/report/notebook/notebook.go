// Package notebook writes figures into a notebook's file, and removes them: into the metadata of each cell and, on
// request, under it as an output. Every other byte stays as it is. The content of a figure, and the file's place, are
// decided elsewhere.
package notebook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Key is the name of the figures in metadata.
const Key = "ipytracer"

// Notebook is a parsed notebook.
type Notebook struct {
	scanner
	cells  []cell
	kernel string // in the metadata
}

// cell is a code cell.
type cell struct {
	number   int // among all cells, from 1
	id       string
	source   string
	where    span // of the source; empty if the cell has none
	count    *int
	indent   string // in front of the cell's members, with the end of the line; "" if they are all in one line
	unit     string // one step of indentation
	metadata span
	entries  []member // of the metadata
	outputs  span
	results  []span // of the outputs
}

// Parse finds the code cells of a notebook of format 4. The text is kept.
func Parse(text []byte) (*Notebook, error) {
	if !json.Valid(text) || !utf8.Valid(text) {
		return nil, errNotNotebook
	}
	n := &Notebook{scanner: scanner{text: text}}
	whole, err := n.value(0)
	if err != nil {
		return nil, err
	}
	top, err := n.members(whole)
	if err != nil {
		return nil, err
	}
	format, ok := find(top, "nbformat")
	if !ok {
		return nil, errNotNotebook
	}
	if version := string(text[format.value.from:format.value.to]); version != "4" {
		return nil, fmt.Errorf("it is a notebook of format %.20s; save it in format 4, as Jupyter does since 2015",
			version)
	}
	cells, ok := find(top, "cells")
	if !ok {
		return nil, errNotNotebook
	}
	all, err := n.items(cells.value)
	if err != nil {
		return nil, err
	}
	for i, one := range all {
		if err := n.cell(i+1, one); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i+1, err)
		}
	}
	var metadata struct {
		Kernel struct {
			Name string `json:"name"`
		} `json:"kernelspec"`
	}
	n.read(top, "metadata", &metadata)
	n.kernel = metadata.Kernel.Name
	return n, nil
}

// cell adds a cell, if it has code.
func (n *Notebook) cell(number int, at span) error {
	all, err := n.members(at)
	if err != nil {
		return err
	}
	var kind string
	n.read(all, "cell_type", &kind)
	if kind != "code" {
		return nil
	}
	c := cell{number: number}
	n.read(all, "id", &c.id)
	n.read(all, "execution_count", &c.count)
	var lines []string
	source, ok := find(all, "source")
	c.where = source.value
	if ok && json.Unmarshal(n.text[source.value.from:source.value.to], &lines) == nil {
		c.source = strings.Join(lines, "")
	} else {
		n.read(all, "source", &c.source)
	}
	metadata, ok := find(all, "metadata")
	outputs, also := find(all, "outputs")
	if !ok || !also {
		return fmt.Errorf("%w: a cell without metadata or outputs", errNotNotebook)
	}
	c.metadata, c.outputs = metadata.value, outputs.value
	if c.entries, err = n.members(metadata.value); err != nil {
		return err
	}
	if c.results, err = n.items(outputs.value); err != nil {
		return err
	}
	if indent := n.before(all[0].name.from); strings.Contains(indent, "\n") {
		c.indent = indent
		c.unit = strings.TrimPrefix(indent, n.before(at.from))
	}
	n.cells = append(n.cells, c)
	return nil
}

// read stores a member's value if it has the type; else the field stays as it is.
func (n *Notebook) read(all []member, key string, into any) {
	if one, ok := find(all, key); ok {
		_ = json.Unmarshal(n.text[one.value.from:one.value.to], into)
	}
}

// edit is a text that replaces another.
type edit struct {
	span
	text string
}

// apply makes the new text; edits are in order and do not overlap.
func (n *Notebook) apply(edits []edit) []byte {
	out, at := make([]byte, 0, len(n.text)), 0
	for _, e := range edits {
		out = append(append(out, n.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, n.text[at:]...)
}

// put returns an edit that adds a member or an item to a list or object, in the cell's layout.
func (c *cell) put(whole span, last int, text string) edit {
	if last < 0 {
		if c.indent == "" {
			return edit{span{whole.from + 1, whole.to - 1}, text}
		}
		return edit{span{whole.from + 1, whole.to - 1}, c.indent + c.unit + text + c.indent}
	}
	if c.indent == "" {
		return edit{span{last, last}, ", " + text}
	}
	return edit{span{last, last}, "," + c.indent + c.unit + text}
}

// shown returns a value as JSON, in the cell's layout.
func (c *cell) shown(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if c.indent != "" {
		e.SetIndent(strings.TrimLeft(c.indent, "\r\n")+c.unit, c.unit)
	}
	if err := e.Encode(value); err != nil {
		panic(err) // texts and numbers, all of them
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", lineEnd(c.indent))
}

func lineEnd(indent string) string {
	if strings.HasPrefix(indent, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// out removes a member or an item, with its separator.
func (n *Notebook) out(whole span, one span, previous, next int) edit {
	switch {
	case previous >= 0:
		return edit{span{previous, one.to}, ""}
	case next >= 0:
		return edit{span{one.from, next}, ""}
	}
	return edit{span{whole.from + 1, whole.to - 1}, ""}
}

// hash returns the hash of a source, in its compared form.
func hash(source string) string {
	sum := sha256.Sum256([]byte(strings.TrimRight(source, "\n")))
	return hex.EncodeToString(sum[:])
}

// Package notebook writes figures into a notebook's file, and removes them. They are in the metadata of each cell and,
// on request, under it as an output. Every other byte stays as it is. The content of a figure, and the file's place,
// are decided elsewhere.
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

// Key is the member of a cell's metadata that has the figures.
const Key = "ipytracer"

// Notebook is a parsed notebook.
type Notebook struct {
	scanner
	cells  []cell // the code cells
	kernel string // the name of the kernel that the metadata asks for
}

// cell is a code cell.
type cell struct {
	number   int // among all cells, from 1
	id       string
	source   string
	where    span   // of the source; empty if the cell has none
	count    *int   // In[N]
	indent   string // in front of the cell's members, with the end of the line; "" if they are all in one line
	unit     string // one step of indentation
	metadata span
	entries  []member // of the metadata
	outputs  span
	results  []span // the items of the outputs
}

// Parse finds the code cells of a notebook of format 4. The notebook keeps the text, which must not change.
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
	places, err := n.items(cells.value)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		if err := n.cell(i+1, place); err != nil {
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

// cell adds a cell if it is a code cell.
func (n *Notebook) cell(number int, place span) error {
	members, err := n.members(place)
	if err != nil {
		return err
	}
	var kind string
	n.read(members, "cell_type", &kind)
	if kind != "code" {
		return nil
	}
	c := cell{number: number}
	n.read(members, "id", &c.id)
	n.read(members, "execution_count", &c.count)
	var lines []string
	source, hasSource := find(members, "source")
	c.where = source.value
	if hasSource && json.Unmarshal(n.text[source.value.from:source.value.to], &lines) == nil {
		c.source = strings.Join(lines, "")
	} else {
		n.read(members, "source", &c.source)
	}
	metadata, hasMetadata := find(members, "metadata")
	outputs, hasOutputs := find(members, "outputs")
	if !hasMetadata || !hasOutputs {
		return fmt.Errorf("%w: a cell without metadata or outputs", errNotNotebook)
	}
	c.metadata, c.outputs = metadata.value, outputs.value
	if c.entries, err = n.members(metadata.value); err != nil {
		return err
	}
	if c.results, err = n.items(outputs.value); err != nil {
		return err
	}
	if indent := n.spaceBefore(members[0].name.from); strings.Contains(indent, "\n") {
		c.indent = indent
		c.unit = strings.TrimPrefix(indent, n.spaceBefore(place.from))
	}
	n.cells = append(n.cells, c)
	return nil
}

// read stores the value of the member with a key in target. It leaves target as it is if there is no such member, or if
// the value has another type.
func (n *Notebook) read(members []member, key string, target any) {
	if m, ok := find(members, key); ok {
		_ = json.Unmarshal(n.text[m.value.from:m.value.to], target)
	}
}

// edit replaces a span of a notebook's text.
type edit struct {
	span
	text string
}

// apply returns the notebook's text after edits, which must be in order and must not overlap.
func (n *Notebook) apply(edits []edit) []byte {
	out, copied := make([]byte, 0, len(n.text)), 0
	for _, e := range edits {
		out = append(append(out, n.text[copied:e.from]...), e.text...)
		copied = e.to
	}
	return append(out, n.text[copied:]...)
}

// insert returns an edit that adds a member or an item at the end of a list or object, in the cell's layout. lastEnd is
// the end of the last one so far, -1 for an empty list or object.
func (c *cell) insert(whole span, lastEnd int, text string) edit {
	inside := span{whole.from + 1, whole.to - 1}
	isOneLine := c.indent == ""
	switch {
	case lastEnd < 0 && isOneLine:
		return edit{inside, text}
	case lastEnd < 0:
		return edit{inside, c.indent + c.unit + text + c.indent}
	case isOneLine:
		return edit{span{lastEnd, lastEnd}, ", " + text}
	}
	return edit{span{lastEnd, lastEnd}, "," + c.indent + c.unit + text}
}

// encode returns a value as JSON, in the cell's layout.
func (c *cell) encode(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if c.indent != "" {
		e.SetIndent(strings.TrimLeft(c.indent, "\r\n")+c.unit, c.unit)
	}
	if err := e.Encode(value); err != nil {
		panic(err) // unreachable: the values are texts and numbers
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", lineEnd(c.indent))
}

// lineEnd returns the end of a line in the notebook, by the indentation of a cell.
func lineEnd(indent string) string {
	if strings.HasPrefix(indent, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// remove returns an edit that removes one item of a list or object, given the places of all items, with its separator.
func remove(whole span, items []span, index int) edit {
	switch {
	case index > 0:
		return edit{span{items[index-1].to, items[index].to}, ""}
	case index+1 < len(items):
		return edit{span{items[index].from, items[index+1].from}, ""}
	}
	return edit{span{whole.from + 1, whole.to - 1}, ""}
}

// hash returns the hash of a source without the newlines at its end: cells are the same if their hashes are equal.
func hash(source string) string {
	sum := sha256.Sum256([]byte(strings.TrimRight(source, "\n")))
	return hex.EncodeToString(sum[:])
}

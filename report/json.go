package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// JSON writes the report as one indented JSON object that follows [SchemaJSON]. Equal reports give equal bytes:
// the members of maps are sorted, and a list or map that is empty is [] or {}, never null. Strings keep every character of the
// target's; those that a terminal could act on are written as \u escapes.
func JSON(w io.Writer, r *Report) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(complete(r)); err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	_, err := w.Write(asciiEscapes(b.Bytes()))
	return err
}

// asciiEscapes writes characters that cannot be seen as \u escapes. Outside of strings JSON is ASCII, so what it
// replaces is always within one.
func asciiEscapes(encoded []byte) []byte {
	out := make([]byte, 0, len(encoded))
	for len(encoded) > 0 {
		r, size := utf8.DecodeRune(encoded)
		switch {
		case r < 0x7f || r != 0x7f && visible(r):
			out = append(out, encoded[:size]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		encoded = encoded[size:]
	}
	return out
}

// complete copies a report so far that no list or map of it is nil, and names its schema.
func complete(r *Report) *Report {
	c := *r
	c.Schema = Schema
	c.Processes = list(r.Processes)
	for i := range c.Processes {
		c.Processes[i].Meters = figures(c.Processes[i].Meters)
	}
	c.Meters = list(r.Meters)
	c.Windows = list(r.Windows)
	for i := range c.Windows {
		w := &c.Windows[i]
		w.Meters, w.Tree, w.Children = figures(w.Meters), figures(w.Tree), list(w.Children)
		for j := range w.Children {
			w.Children[j].Meters = figures(w.Children[j].Meters)
		}
	}
	c.Between = list(r.Between)
	for i := range c.Between {
		c.Between[i].Meters = figures(c.Between[i].Meters)
	}
	proof := &c.Certificate
	proof.Lost, proof.LateLibraries, proof.Probes = list(proof.Lost), list(proof.LateLibraries), list(proof.Probes)
	proof.Meters, proof.Problems = list(proof.Meters), list(proof.Problems)
	return &c
}

// list copies a slice; nil becomes empty.
func list[T any](items []T) []T { return append(make([]T, 0, len(items)), items...) }

func figures(m map[string]Figure) map[string]Figure {
	if m == nil {
		return map[string]Figure{}
	}
	return m
}

// WithoutSource returns a copy of a report from which every text of the notebook is gone: the sources of cells and
// statements, what follows the program's name in the command lines of child processes, which a cell may have typed
// (!cmd), and code in an attached process's own (ipython -c). Names of experiments stay. The report is not changed.
func WithoutSource(r *Report) *Report {
	c := complete(r)
	c.Schema = r.Schema
	for i := range c.Windows {
		w := &c.Windows[i]
		w.Source, w.SourceTruncated = "", false
		for j := range w.Children {
			w.Children[j].Command = program(w.Children[j].Command)
		}
	}
	for i := range c.Processes {
		if c.Processes[i].Parent != 0 {
			c.Processes[i].Command = program(c.Processes[i].Command)
		} else {
			c.Processes[i].Command = withoutCode(c.Processes[i].Command)
		}
	}
	return c
}

// withoutCode leaves the code out of python -c code.
func withoutCode(command string) string {
	if before, _, inline := strings.Cut(command, " -c "); inline {
		return before + " -c …"
	}
	return command
}

// program is the first word of a command line.
func program(command string) string {
	first, _, _ := strings.Cut(command, " ")
	return first
}

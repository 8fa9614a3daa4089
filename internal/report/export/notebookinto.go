package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// CellResult is the new text of a notebook, and counts the changes.
type CellResult struct {
	Text    []byte
	Cells   int // code cells
	Written int // cells that have figures now
	Removed int // cells that lost figures, for Remove
	// Without lists the cells without figures, in the notebook's order.
	Without []Without
}

// Without is a cell that gets no figures.
type Without struct {
	Cell int // among all cells, from 1
	Why  string
}

// Into writes the figures of a session into the metadata of the cells that ran in it, and with outputs also under the
// cells. It finds cells by their sources. It replaces the figures of an earlier session, and removes them from cells
// that did not run in this one.
func (n *Notebook) Into(r *model.Report, outputs bool) CellResult {
	chosen, why := n.choose(n.collect(r))
	var out CellResult
	var edits []edit
	for i := range n.cells {
		c := &n.cells[i]
		if c.source != "" {
			out.Cells++
		}
		if chosen[i] == nil {
			if why[i] != "" {
				out.Without = append(out.Without, Without{c.number, why[i]})
			}
			edits = append(edits, n.clear(c, true, true)...)
			continue
		}
		out.Written++
		edits = append(edits, setMetadata(c, chosen[i]))
		if outputs {
			edits = append(edits, n.setOutput(c, chosen[i]))
		} else {
			edits = append(edits, n.clear(c, false, true)...)
		}
	}
	out.Text = n.applied(edits)
	return out
}

// Remove removes all figures.
func (n *Notebook) Remove() CellResult {
	out := CellResult{Cells: len(n.cells)}
	var edits []edit
	for i := range n.cells {
		gone := n.clear(&n.cells[i], true, true)
		if len(gone) > 0 {
			out.Removed++
		}
		edits = append(edits, gone...)
	}
	out.Text = n.applied(edits)
	return out
}

// applied sorts edits, and returns the notebook's text after them.
func (n *Notebook) applied(edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	return n.apply(edits)
}

// setMetadata returns an edit that writes a run into a cell's metadata.
func setMetadata(c *cell, r *run) edit {
	text := c.encode(r)
	if old, ok := find(c.entries, NotebookKey); ok {
		return edit{old.value, text}
	}
	lastEnd := -1
	if len(c.entries) > 0 {
		lastEnd = c.entries[len(c.entries)-1].value.to
	}
	return c.insert(c.metadata, lastEnd, `"`+NotebookKey+`": `+text)
}

// setOutput returns an edit that writes a run as an output of a cell, in the place of an earlier one.
func (n *Notebook) setOutput(c *cell, r *run) edit {
	plain, page := lines(r)
	text := c.encode(struct {
		Data     map[string][]string       `json:"data"`
		Metadata map[string]map[string]any `json:"metadata"`
		Type     string                    `json:"output_type"`
	}{
		map[string][]string{"text/html": {page}, "text/plain": {plain}},
		map[string]map[string]any{NotebookKey: {"schema": CellSchema, "source_sha256": r.SourceSHA256}}, "display_data",
	})
	lastEnd := -1
	for _, output := range c.results {
		if n.isOurs(output) {
			return edit{output, text}
		}
		lastEnd = output.to
	}
	return c.insert(c.outputs, lastEnd, text)
}

// isOurs reports whether an output is from setOutput.
func (n *Notebook) isOurs(place span) bool {
	var output struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(n.text[place.from:place.to], &output) != nil {
		return false
	}
	_, hasKey := output.Metadata[NotebookKey]
	return hasKey
}

// clear returns the edits that remove an earlier run from a cell: from its metadata, its outputs, or both.
func (n *Notebook) clear(c *cell, metadata, outputs bool) (edits []edit) {
	if i := slices.IndexFunc(c.entries, func(m member) bool { return m.key == NotebookKey }); metadata && i >= 0 {
		var entries []span
		for _, m := range c.entries {
			entries = append(entries, span{m.name.from, m.value.to})
		}
		edits = append(edits, remove(c.metadata, entries, i))
	}
	if !outputs {
		return edits
	}
	if i := slices.IndexFunc(c.results, n.isOurs); i >= 0 {
		edits = append(edits, remove(c.outputs, c.results, i))
	}
	return edits
}

// lines returns a run for people, as text and as an HTML table.
func lines(r *run) (plain, page string) {
	var text []string
	var rows strings.Builder
	for _, id := range r.meters {
		s := r.Meters[id]
		marked := func(q words.Quantity, n int64) string { return q.Mark(s.Exact, s.Bound) + words.Bytes(n) }
		name := strings.TrimPrefix(id, "cpu.")
		need, consumed := marked(words.Need, s.Need), marked(words.Consumed, s.Consumed)
		peak, total := marked(words.Highest, s.Peak), marked(words.Total, s.Total)
		text = append(text, fmt.Sprintf("%s: need %s, consumed %s, peak %s, total %s",
			name, need, consumed, peak, total))
		fmt.Fprintf(&rows, "<tr><th>%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>",
			html.EscapeString(name), need, consumed, peak, total)
	}
	if len(text) == 0 {
		return "ipytracer: no memory moved", "<p>ipytracer: no memory moved</p>"
	}
	return "ipytracer: " + strings.Join(text, "; "),
		"<table><thead><tr><th>ipytracer</th><th>need</th><th>consumed</th><th>peak</th><th>total</th></tr></thead>" +
			"<tbody>" + rows.String() + "</tbody></table>"
}

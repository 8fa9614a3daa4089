package notebook

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

// Result counts the changes of a notebook.
type Result struct {
	Text []byte
	// Cells are those with code; Written those with figures now, and Removed those that lost some.
	Cells, Written, Removed int
	// Without lists cells without figures and the reason, in the notebook's order.
	Without []Without
}

// Without is a cell that gets no figures.
type Without struct {
	Cell int // among all cells, from 1
	Why  string
}

// Into writes the figures of a session into the metadata of the cells that ran in it, and with outputs also under them.
// It finds cells by their sources. It replaces the figures of another session; a cell without figures in this session
// loses its old ones.
func (n *Notebook) Into(r *model.Report, outputs bool) Result {
	chosen, why := n.choose(n.collect(r))
	var out Result
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
		edits = append(edits, n.set(c, chosen[i]))
		if outputs {
			edits = append(edits, n.show(c, chosen[i]))
		} else {
			edits = append(edits, n.clear(c, false, true)...)
		}
	}
	out.Text = n.applied(edits)
	return out
}

// Remove removes all figures.
func (n *Notebook) Remove() Result {
	out := Result{Cells: len(n.cells)}
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

func (n *Notebook) applied(edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	return n.apply(edits)
}

// set writes a run into the metadata.
func (n *Notebook) set(c *cell, of *run) edit {
	text := c.shown(of)
	if old, ok := find(c.entries, Key); ok {
		return edit{old.value, text}
	}
	last := -1
	if len(c.entries) > 0 {
		last = c.entries[len(c.entries)-1].value.to
	}
	return c.put(c.metadata, last, `"`+Key+`": `+text)
}

// show writes a run under a cell, in the place of an earlier one.
func (n *Notebook) show(c *cell, of *run) edit {
	plain, page := lines(of)
	text := c.shown(struct {
		Data     map[string][]string       `json:"data"`
		Metadata map[string]map[string]any `json:"metadata"`
		Type     string                    `json:"output_type"`
	}{
		map[string][]string{"text/html": {page}, "text/plain": {plain}},
		map[string]map[string]any{Key: {"schema": Schema, "source_sha256": of.SourceSHA256}}, "display_data",
	})
	for _, one := range c.results {
		if n.ours(one) {
			return edit{one, text}
		}
	}
	last := -1
	if len(c.results) > 0 {
		last = c.results[len(c.results)-1].to
	}
	return c.put(c.outputs, last, text)
}

// ours reports whether an output is one of show's.
func (n *Notebook) ours(at span) bool {
	var output struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(n.text[at.from:at.to], &output) != nil {
		return false
	}
	_, is := output.Metadata[Key]
	return is
}

// clear removes the metadata and the outputs of a run from a cell.
func (n *Notebook) clear(c *cell, metadata, outputs bool) (edits []edit) {
	if metadata {
		at := slices.IndexFunc(c.entries, func(m member) bool { return m.key == Key })
		if at >= 0 {
			previous, next := -1, -1
			if at > 0 {
				previous = c.entries[at-1].value.to
			}
			if at+1 < len(c.entries) {
				next = c.entries[at+1].name.from
			}
			edits = append(edits, n.out(c.metadata, span{c.entries[at].name.from, c.entries[at].value.to}, previous,
				next))
		}
	}
	if !outputs {
		return edits
	}
	if at := slices.IndexFunc(c.results, n.ours); at >= 0 {
		previous, next := -1, -1
		if at > 0 {
			previous = c.results[at-1].to
		}
		if at+1 < len(c.results) {
			next = c.results[at+1].from
		}
		edits = append(edits, n.out(c.outputs, c.results[at], previous, next))
	}
	return edits
}

// lines returns a run for people, as text and as a table.
func lines(of *run) (plain, page string) {
	var text []string
	var rows strings.Builder
	for _, id := range of.meters {
		s := of.Meters[id]
		of := func(q words.Quantity, n int64) string { return q.Mark(s.Exact, s.Bound) + words.Bytes(n) }
		name := strings.TrimPrefix(id, "cpu.")
		need, consumed := of(words.Need, s.Need), of(words.Consumed, s.Consumed)
		peak, total := of(words.Highest, s.Peak), of(words.Total, s.Total)
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

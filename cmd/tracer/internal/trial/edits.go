package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
)

var errOverlap = errors.New("two pieces of advice change the same lines")

// placed is an edit whose cell is known.
type placed struct {
	model.AdviceEdit
	cell int // index in Notebook.Cells
}

// Edited returns the notebook with the edits of all given advice. cellOfExecution returns the index of the cell that an
// execution ran, or -1 if that is unknown; it is nil if the advice is for another session. An edit of an unknown cell
// goes to the cell with the source that the edit was made for.
func (n *Notebook) Edited(items []model.AdviceItem, cellOfExecution func(execution int) int) (*Notebook, error) {
	var edits []placed
	for i := range items {
		if len(items[i].Edits) == 0 {
			return nil, fmt.Errorf("advice %d has no change that could be tried", items[i].Number)
		}
		for _, e := range items[i].Edits {
			cell := -1
			if cellOfExecution != nil {
				cell = cellOfExecution(e.Execution)
			}
			if cell < 0 {
				cell = n.cellFor(e)
			}
			if cell < 0 || cell >= len(n.Cells) {
				return nil, fmt.Errorf("advice %d changes a cell that the notebook does not have, or that has another "+
					"source now; type 'tracer try' without --advice-from", items[i].Number)
			}
			edits = append(edits, placed{e, cell})
		}
	}
	changed := map[int]string{}
	for cell := range n.Cells {
		cellEdits := slices.DeleteFunc(slices.Clone(edits), func(e placed) bool { return e.cell != cell })
		if len(cellEdits) == 0 {
			continue
		}
		var err error
		if changed[cell], err = editLines(n.Cells[cell].Source, cellEdits); err != nil {
			return nil, fmt.Errorf("cell %d: %w", cell+1, err)
		}
	}
	return n.With(changed)
}

// cellFor returns the index of the cell with the source that an edit was made for, -1 if there is none. If several
// cells have that source, it prefers the cell whose number is that of the execution, and takes the first one otherwise.
func (n *Notebook) cellFor(e model.AdviceEdit) int {
	hasSource := func(c Cell) bool { return model.SourceDigest(c.Source) == e.SourceSHA256 }
	if at := e.Execution - 1; at >= 0 && at < len(n.Cells) && hasSource(n.Cells[at]) {
		return at
	}
	return slices.IndexFunc(n.Cells, hasSource)
}

// editLines applies edits to the source of one cell. It fails if two edits overlap.
func editLines(source string, edits []placed) (string, error) {
	lines := strings.Split(strings.TrimRight(source, "\n"), "\n")
	slices.SortStableFunc(edits, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.EndLine, b.EndLine))
	})
	var out []string
	done := 0 // lines that are copied or replaced
	for _, e := range edits {
		if e.StartLine < 1 || e.EndLine < e.StartLine-1 || e.EndLine > len(lines) || e.StartLine > len(lines)+1 {
			return "", fmt.Errorf("it has no lines %d to %d", e.StartLine, e.EndLine)
		}
		if e.StartLine-1 < done {
			return "", errOverlap
		}
		out = append(out, lines[done:e.StartLine-1]...)
		if !e.Delete {
			out = append(out, e.Text)
		}
		done = e.EndLine
	}
	return strings.Join(append(out, lines[done:]...), "\n"), nil
}

// Diff returns a unified diff of the cells, from n to another version; "" if no source differs.
func (n *Notebook) Diff(other *Notebook) string {
	var b strings.Builder
	pairs := aligned(n, other)
	for i, j := range pairs {
		if j >= 0 && n.Cells[i].Source != other.Cells[j].Source {
			diffCell(&b, i+1, n.Cells[i].Source, other.Cells[j].Source)
		} else if j < 0 {
			diffCell(&b, i+1, n.Cells[i].Source, "")
		}
	}
	for j := range other.Cells {
		if !slices.Contains(pairs, j) {
			diffCell(&b, j+1, "", other.Cells[j].Source)
		}
	}
	return b.String()
}

// diffCell writes the difference of a cell as one hunk, from the first line that differs to the last.
func diffCell(b *strings.Builder, cell int, before, after string) {
	const context = 2
	old, new := split(before), split(after)
	head := 0
	for head < min(len(old), len(new)) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(new))-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	from, to := max(0, head-context), min(tail, context)
	fmt.Fprintf(b, "--- In[%d]\n+++ In[%d]\n", cell, cell)
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from+min(1, len(old)), len(old)-tail+to-from,
		from+min(1, len(new)), len(new)-tail+to-from)
	put := func(sign string, lines []string) {
		for _, line := range lines {
			b.WriteString(sign + line + "\n")
		}
	}
	put(" ", old[from:head])
	put("-", old[head:len(old)-tail])
	put("+", new[head:len(new)-tail])
	put(" ", old[len(old)-tail:len(old)-tail+to])
}

// split returns the lines of a source without line ends; none of an empty source.
func split(source string) []string {
	if source == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(source, "\n"), "\n")
}

// aligned returns, for each cell of a, the index of the cell of b to compare it with, -1 for none. With equal numbers
// of cells, it pairs them in order. Otherwise it pairs the equal cells at the beginning and at the end.
func aligned(a, b *Notebook) []int {
	pairs := make([]int, len(a.Cells))
	if len(a.Cells) == len(b.Cells) {
		for i := range pairs {
			pairs[i] = i
		}
		return pairs
	}
	head := 0
	for head < min(len(a.Cells), len(b.Cells)) && a.Cells[head].Source == b.Cells[head].Source {
		pairs[head] = head
		head++
	}
	for i := head; i < len(pairs); i++ {
		pairs[i] = -1
	}
	for tail := 1; tail <= min(len(a.Cells), len(b.Cells))-head; tail++ {
		if a.Cells[len(a.Cells)-tail].Source != b.Cells[len(b.Cells)-tail].Source {
			break
		}
		pairs[len(a.Cells)-tail] = len(b.Cells) - tail
	}
	return pairs
}

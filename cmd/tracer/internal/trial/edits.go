package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
)

// errOverlap is the error for pieces of advice that change the same lines.
var errOverlap = errors.New("two of them change the same lines")

// placed is an edit of a cell of the notebook.
type placed struct {
	model.AdviceEdit
	cell int // an index of Cells
}

// Edited applies the edits of pieces of advice. ran returns the index of the cell that an execution of this notebook's
// run ran, -1 if that is not known; it is nil if the advice is for another session. Then an edit goes to the cell with
// the source that it was made for.
func (n *Notebook) Edited(items []model.AdviceItem, ran func(execution int) int) (*Notebook, error) {
	var all []placed
	for i := range items {
		if len(items[i].Edits) == 0 {
			return nil, fmt.Errorf("advice %d has no change that could be tried", items[i].Number)
		}
		for _, e := range items[i].Edits {
			cell := -1
			if ran != nil {
				cell = ran(e.Execution)
			}
			if cell < 0 {
				cell = n.cellFor(e)
			}
			if cell < 0 || cell >= len(n.Cells) {
				return nil, fmt.Errorf("advice %d changes a cell that the notebook does not have, or that has another "+
					"source now; type 'tracer try' without --advice-from", items[i].Number)
			}
			all = append(all, placed{e, cell})
		}
	}
	changed := map[int]string{}
	for cell := range n.Cells {
		of := slices.DeleteFunc(slices.Clone(all), func(e placed) bool { return e.cell != cell })
		if len(of) == 0 {
			continue
		}
		var err error
		if changed[cell], err = editLines(n.Cells[cell].Source, of); err != nil {
			return nil, fmt.Errorf("cell %d: %w", cell+1, err)
		}
	}
	return n.With(changed)
}

// cellFor returns the index of the cell with the source that an edit was made for, -1 if there is none. Of several, it
// is the one with the number of the execution, else the first.
func (n *Notebook) cellFor(e model.AdviceEdit) int {
	is := func(c Cell) bool { return model.SourceDigest(c.Source) == e.SourceSHA256 }
	if at := e.Execution - 1; at >= 0 && at < len(n.Cells) && is(n.Cells[at]) {
		return at
	}
	return slices.IndexFunc(n.Cells, is)
}

// editLines replaces lines of a cell.
func editLines(source string, edits []placed) (string, error) {
	lines := strings.Split(strings.TrimRight(source, "\n"), "\n")
	slices.SortStableFunc(edits, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.EndLine, b.EndLine))
	})
	var out []string
	from := 0 // lines that are done
	for _, e := range edits {
		if e.StartLine < 1 || e.EndLine < e.StartLine-1 || e.EndLine > len(lines) || e.StartLine > len(lines)+1 {
			return "", fmt.Errorf("it has no lines %d to %d", e.StartLine, e.EndLine)
		}
		if e.StartLine-1 < from {
			return "", errOverlap
		}
		out = append(out, lines[from:e.StartLine-1]...)
		if !e.Delete {
			out = append(out, e.Text)
		}
		from = e.EndLine
	}
	return strings.Join(append(out, lines[from:]...), "\n"), nil
}

// Diff shows what another version of the notebook changes, as a unified diff of its cells.
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

// diffCell writes the difference of a cell, without the equal lines at its beginning and at its end.
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

func split(source string) []string {
	if source == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(source, "\n"), "\n")
}

// aligned returns, for each cell of a notebook, the index of the cell of another version that it is compared with, -1
// for none.
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

package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/advice/notebook"
	"ipytracer/model"
)

// context is the number of unchanged lines around a change.
const context = 2

// diff returns edits as a unified diff. Each cell is a file of the diff, named In[N].
func diff(n *notebook.Notebook, edits []model.AdviceEdit) string {
	byCell := map[int][]model.AdviceEdit{}
	for _, e := range edits {
		byCell[e.Execution] = append(byCell[e.Execution], e)
	}
	var b strings.Builder
	for _, c := range n.Cells {
		if ofCell := byCell[c.Window.Execution]; len(ofCell) > 0 {
			slices.SortStableFunc(ofCell, func(x, y model.AdviceEdit) int {
				return cmp.Compare(x.StartLine, y.StartLine)
			})
			cellDiff(&b, c, ofCell)
		}
	}
	return b.String()
}

// cellDiff writes the diff of one cell. Edits whose unchanged context would overlap share a hunk.
func cellDiff(b *strings.Builder, cell *notebook.Cell, edits []model.AdviceEdit) {
	name := "cell " + fmt.Sprint(cell.Window.Execution)
	if cell.Window.ExecutionCount != nil {
		name = fmt.Sprintf("In[%d]", *cell.Window.ExecutionCount)
	}
	fmt.Fprintf(b, "--- %s\n+++ %s\n", name, name)
	shift := 0
	for i := 0; i < len(edits); {
		j := i + 1
		for j < len(edits) && edits[j].StartLine-edits[j-1].EndLine <= 2*context {
			j++
		}
		shift += hunk(b, cell.Lines, edits[i:j], shift)
		i = j
	}
}

// hunk writes edits as one hunk, and returns by how many lines they make the cell longer. Earlier hunks made the cell
// shift lines longer.
func hunk(b *strings.Builder, lines []string, edits []model.AdviceEdit, shift int) (longer int) {
	from := max(1, edits[0].StartLine-context)
	to := min(len(lines), edits[len(edits)-1].EndLine+context)
	var body []string
	at := from
	for _, e := range edits {
		for ; at < e.StartLine; at++ {
			body = append(body, " "+lines[at-1])
		}
		for ; at <= e.EndLine && at <= len(lines); at++ {
			body = append(body, "-"+lines[at-1])
			longer--
		}
		if !e.Delete {
			for l := range strings.SplitSeq(e.Text, "\n") {
				body = append(body, "+"+l)
				longer++
			}
		}
	}
	for ; at <= to; at++ {
		body = append(body, " "+lines[at-1])
	}
	was := to - from + 1
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n%s\n", from, was, from+shift, was+longer, strings.Join(body, "\n"))
	return longer
}

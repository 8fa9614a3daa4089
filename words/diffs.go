package words

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"ipytracer/model"
)

// Meter is what people call a meter: resident, numpy, GPU 0 active.
func Meter(id string) string {
	if rest, ok := strings.CutPrefix(id, "gpu."); ok {
		return "GPU " + strings.ReplaceAll(rest, ".", " ")
	}
	return strings.ReplaceAll(strings.TrimPrefix(id, "cpu."), ".", " ")
}

// Change is a difference in bytes with its sign: "+512.00 MiB", "−3.00 KiB", "0 B".
func Change(bytes int64) string {
	switch {
	case bytes > 0:
		return "+" + Bytes(bytes)
	case bytes < 0:
		return "−" + strings.TrimPrefix(Bytes(bytes), "-")
	}
	return Bytes(0)
}

// Percent is a change by what there was: "+12.5 %"; "" where there was nothing.
func Percent(change, of int64) string {
	if of <= 0 {
		return ""
	}
	text := fmt.Sprintf("%+.1f %%", 100*float64(change)/float64(of))
	return strings.Replace(text, "-", "−", 1)
}

// More says how a cell's own memory changed, bytes first: what it needs on top of what stands, or what it keeps; of a new cell and of one
// that is gone just what that is.
func More(change, meter string, bytes int64, keeps bool) string {
	verb, past := "needs", "needed"
	if keeps {
		verb, past = "keeps", "kept"
	}
	size := strings.TrimPrefix(Bytes(bytes), "-")
	switch {
	case change == model.New:
		return fmt.Sprintf("%s: it %s %s", Meter(meter), verb, Bytes(bytes))
	case change == model.Gone:
		return fmt.Sprintf("%s: it %s %s", Meter(meter), past, Bytes(-bytes))
	case bytes < 0:
		return fmt.Sprintf("%s: %s %s less", Meter(meter), verb, size)
	}
	return fmt.Sprintf("%s: %s %s more", Meter(meter), verb, size)
}

// Why a cell has other figures than it had.
const (
	WhyEdited      = "its source was edited"
	WhyNew         = "it is new"
	WhyGone        = "it is gone"
	WhyMoved       = "it runs elsewhere in the order"
	WhySame        = "its source is the same: other data, other library versions, another machine, or what earlier cells defined"
	WhyConsequence = "only because of what stood before it"
)

// WhyLineOf says that a line in another cell made the difference.
func WhyLineOf(cell, change string) string {
	return "its source is the same; the line that changed is of " + cell + ", which was " + change
}

// Row is what people call a cell of a comparison: In[3], or In[3] → In[4] where it has another number now.
func Row(row *model.CellDiff) string {
	name := func(x *model.DiffCell) string {
		count := -1
		if x.ExecutionCount != nil {
			count = *x.ExecutionCount
		}
		return Cell(x.Execution, count, x.Silent)
	}
	whole := func(x *model.DiffCell) string { return name(x) + OfKernel(x.Kernel) }
	switch {
	case row.A == nil:
		return whole(row.B)
	case row.B == nil:
		return whole(row.A)
	}
	a, b := name(row.A), name(row.B)
	if row.A.Kernel != row.B.Kernel {
		a, b = whole(row.A), whole(row.B)
	}
	text := b
	if a != b {
		text = a + " → " + b
	}
	if row.A.Kernel == row.B.Kernel {
		text += OfKernel(row.B.Kernel)
	}
	return text
}

// LineOf is what people call a line of a comparison, hostile as it comes: "In[3] line 2 total: big = data * 2".
func LineOf(d *model.Diff, l *model.LineDiff) string {
	text := ""
	switch {
	case l.Cell >= 0 && l.Cell < len(d.Cells):
		text = Row(&model.CellDiff{B: cmp.Or(d.Cells[l.Cell].B, d.Cells[l.Cell].A)})
	case l.File == "" && l.Line == 0:
		return "(no Python code, or not known)"
	default:
		text = fileName(l.File)
	}
	if l.Line > 0 {
		text += fmt.Sprintf(" line %d", l.Line)
	}
	if l.Function != "" && l.Function != "<module>" {
		text += " " + l.Function
	}
	if l.Source != "" {
		text += ": " + l.Source
	}
	return text
}

// fileName is the name of a file without its folders; of a cell that ran before the session, which stands in the place of one, the whole.
func fileName(file string) string {
	if strings.HasPrefix(file, "In[") {
		return file
	}
	return path.Base(file)
}

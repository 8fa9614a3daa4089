package words

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"ipytracer/model"
)

// Meter returns the name of a meter for people: resident, numpy, GPU 0 active.
func Meter(id string) string {
	if rest, ok := strings.CutPrefix(id, "gpu."); ok {
		return "GPU " + strings.ReplaceAll(rest, ".", " ")
	}
	return strings.ReplaceAll(strings.TrimPrefix(id, "cpu."), ".", " ")
}

// Change formats a difference in bytes with its sign: "+512.00 MiB", "−3.00 KiB", "0 B".
func Change(bytes int64) string {
	switch {
	case bytes > 0:
		return "+" + Bytes(bytes)
	case bytes < 0:
		return "−" + strings.TrimPrefix(Bytes(bytes), "-")
	}
	return Bytes(0)
}

// Percent formats a change in per cent of the old value: "+12.5 %"; "" for an old value of 0.
func Percent(change, old int64) string {
	if old <= 0 {
		return ""
	}
	text := fmt.Sprintf("%+.1f %%", 100*float64(change)/float64(old))
	return strings.Replace(text, "-", "−", 1)
}

// More describes by how many bytes a cell's need changed or, with keeps, the memory that the cell keeps:
// "resident: needs 1.00 GiB more". change is the kind of change, such as model.New. For a new cell bytes is its whole
// need; for a cell that is gone, minus the need that it had.
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

// MoreOf describes by how many bytes a cell's need changed or, with keeps, the memory that the cell keeps: "needs
// 168.00 MiB less". It names the meter unless that is first: "needs 1.00 GiB more of GPU 0 driver". gives says that the
// cell gives memory back in both runs: then bytes is the change of a negative amount.
func MoreOf(meter, first string, bytes int64, keeps, gives bool) string {
	verb, more := "needs", "more"
	switch {
	case gives:
		verb, bytes = "gives back", -bytes
	case keeps:
		verb = "keeps"
	}
	if bytes < 0 {
		more = "less"
	}
	text := fmt.Sprintf("%s %s %s", verb, strings.TrimPrefix(Bytes(bytes), "-"), more)
	if meter != first {
		text += " of " + Meter(meter)
	}
	return text
}

// Reasons for a cell's change.
const (
	WhyEdited = "its source was edited"
	WhyNew    = "it is new"
	WhyGone   = "it is gone"
	WhyMoved  = "it runs elsewhere in the order"
	WhySame   = "its source is the same: other data, other library versions, another machine, " +
		"or what earlier cells defined"
	WhyConsequence = "only because of what stood before it"
)

// WhyLineOf says that a line in another cell made the difference.
func WhyLineOf(cell string, of *model.CellDiff) string {
	return "its source is the same; the line that changed is of " + cell + ", which was " + of.Change +
		EditedIn(of.Edits)
}

// maxEdited is the most places of a cell, or cells of a chain, that a text names.
const maxEdited = 3

// EditedIn describes the places of an edit, to follow another text: " in line 2", " in lines 2 to 4 and line 9"; "" if
// they are not known.
func EditedIn(edits []model.Edit) string {
	var parts []string
	for i, e := range edits {
		if i == maxEdited {
			parts = append(parts, Plural(len(edits)-i, "more place"))
			break
		}
		switch {
		case e.LinesB == 0 && e.B == 1:
			parts = append(parts, "before line 1")
		case e.LinesB == 0:
			parts = append(parts, fmt.Sprintf("behind line %d", e.B-1))
		case e.LinesB == 1:
			parts = append(parts, fmt.Sprintf("in line %d", e.B))
		default:
			parts = append(parts, fmt.Sprintf("in lines %d to %d", e.B, e.B+e.LinesB-1))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + enumerated(parts)
}

// enumerated returns "a, b and c".
func enumerated(parts []string) string {
	if n := len(parts) - 1; n > 0 {
		return strings.Join(parts[:n], ", ") + " and " + parts[n]
	}
	return parts[0]
}

// WhyReads describes the chain of names that a cell reads, up to the cell that changed: "it reads orders, made in
// In[2], edited in line 2". The middle of a long chain is left out. The result is not escaped.
func WhyReads(d *model.Diff, reads []model.DiffRead) string {
	text := ""
	isLong := len(reads) > maxEdited+1
	for i, r := range reads {
		row := &d.Cells[r.Cell]
		name, verb := r.Name, "made"
		if r.InPlace {
			verb = "changed"
		}
		isSkip := isLong && i == maxEdited
		switch {
		case i == 0 && r.Released:
			text = "it lets go of "
		case i == 0:
			text = "it reads "
		case isSkip:
			last := reads[len(reads)-1]
			text += ", and so on back to "
			row, name = &d.Cells[last.Cell], last.Name
		default:
			text += ", which reads "
		}
		if name == "" {
			text += "what was " + verb + " in " + Row(row)
		} else {
			text += name + ", " + verb + " in " + Row(row)
		}
		if isSkip || i == len(reads)-1 {
			return text + changed(row)
		}
	}
	return text
}

// changed describes the change of a cell, to follow its name: ", edited in line 2".
func changed(row *model.CellDiff) string {
	switch row.Change {
	case model.New:
		return ", which is new"
	case model.Gone:
		return ", which is gone"
	}
	return ", " + row.Change + EditedIn(row.Edits)
}

// ButFigures adds to why, a reason from the names that a cell reads, that the cell's figures changed in the other
// direction.
func ButFigures(why string) string { return why + ", but that changed the other way" }

// ItselfAsMuch says that a cell's own figures did not change, although other cells changed because of it.
func ItselfAsMuch(change string) string {
	switch change {
	case model.New, model.Gone:
		return "the difference is in cells that read what it defines"
	}
	return "the cell itself needs and keeps the same"
}

// Row returns the name of a cell of a comparison for people: In[3], or In[3] → In[4] if its number has changed.
func Row(row *model.CellDiff) string {
	name := func(x *model.DiffCell) string { return Cell(x.Execution, countOf(x.ExecutionCount), x.Silent) }
	nameAndKernel := func(x *model.DiffCell) string { return name(x) + OfKernel(x.Kernel) }
	switch {
	case row.A == nil:
		return nameAndKernel(row.B)
	case row.B == nil:
		return nameAndKernel(row.A)
	}
	a, b := name(row.A), name(row.B)
	if row.A.Kernel != row.B.Kernel {
		a, b = nameAndKernel(row.A), nameAndKernel(row.B)
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

// LineOf returns the name of a line of a comparison for people, not escaped: "In[3] line 2 total: big = data * 2".
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
	text = inLine(text, l.Line, l.Function)
	if l.Source != "" {
		text += ": " + l.Source
	}
	return text
}

// fileName returns the name of a file without its folders. The file of a cell that ran before the session is a
// description that begins with "In[": fileName returns it whole.
func fileName(file string) string {
	if strings.HasPrefix(file, "In[") {
		return file
	}
	return path.Base(file)
}

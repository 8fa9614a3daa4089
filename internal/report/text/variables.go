package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Bounds of the list of variables.
const (
	maxVariables  = 8        // rows, without --full
	leastVariable = 64 << 10 // bytes that a variable must hold or reach to have a row
	leastShared   = 1 << 20  // bytes that names must hold together to have a row together
	foldedShare   = 100      // a variable must also have this part, one in 100, of the largest one's bytes
)

// named is a row of the list of variables: a name, or several that hold memory together.
type named struct {
	model.Variable // of several names, the largest variable
	name           string
	size           int64  // bytes that decide on its place
	alone          string // the text of the column alone
	part           bool   // it stands below the row of several names, and is one of them
}

// Remains shows the remaining memory: names, resident memory, code to free it.
type Remains struct {
	*doc.Document
	Full      bool
	Processes []model.Process
}

// Variables lists the names, the largest first.
func (v Remains) Variables(all []model.Variable, names []model.Names, free []model.Freeing) {
	l := &variableList{all: all, free: free, full: v.Full, children: map[int]bool{}}
	for _, p := range v.Processes {
		l.children[p.PID] = p.Parent != 0
	}
	rows, rest := l.rows()
	if len(rows) == 0 {
		return
	}
	several := slices.ContainsFunc(rows, func(x named) bool { return x.PID != rows[0].PID })
	v.Heading("Variables at the end (alone: freed with the name; reaches: shared ones, too)")
	t := doc.NewTable(doc.Bytes("alone"), doc.Bytes("reaches").Drop(3), doc.Left("name"), doc.Left("type").Drop(1),
		doc.Left("shape").Drop(2), doc.Flex("made by"))
	for _, x := range rows {
		name := x.name
		if several {
			name = fmt.Sprintf("%s (pid %d)", name, x.PID)
		}
		if x.part {
			name = "  " + name
		}
		t.Row(x.alone, doc.Dim(words.Reaches(&x.Variable)), name, escape.Bounded(x.Type, maxName), Shape(x.Variable),
			maker(x.Variable))
		columnRows(t, x.Variable, v.Full)
	}
	v.Table(t)
	v.unnamed(rest, names)
}

// variableList decides on the rows.
type variableList struct {
	all      []model.Variable
	free     []model.Freeing
	full     bool
	children map[int]bool // processes that are no notebooks
}

// rows returns the rows of the list, the largest first, and the variables without a row. With --full every name has a
// row.
func (l *variableList) rows() (rows []named, rest []model.Variable) {
	rows, grouped := l.groups()
	for i := range l.all {
		if x := &l.all[i]; !grouped[x] {
			rows = append(rows, named{Variable: *x, name: variableName(*x), size: x.Size(), alone: words.Alone(x)})
		}
	}
	slices.SortStableFunc(rows, func(a, b named) int { return cmp.Compare(b.size, a.size) })
	if l.full {
		return l.withParts(rows), nil
	}
	kept := rows[:0]
	largest := int64(0)
	for _, x := range rows {
		isLarge := x.size >= max(leastVariable, largest/foldedShare)
		if isLarge && len(kept) < maxVariables && l.isNotebooks(&x.Variable) {
			kept, largest = append(kept, x), max(largest, x.size)
		} else {
			rest = append(rest, x.Variable)
		}
	}
	return kept, rest
}

// groups returns rows of memory that several names hold together, and the variables in them.
func (l *variableList) groups() (rows []named, grouped map[*model.Variable]bool) {
	grouped = map[*model.Variable]bool{}
	for i := range l.free {
		f := &l.free[i]
		members := membersOf(l.all, f)
		if len(members) < 2 || f.Shared < leastShared {
			continue
		}
		row := named{Variable: *members[0], name: (&together{names: f.Names}).name(),
			size: f.Predicted + f.Device + model.SumOf(f.Maps)}
		row.Bytes, row.Device, row.Exact, row.Reaches = f.Predicted, f.Device, f.Exact, 0
		row.Maps = f.Maps
		row.alone = words.Alone(&row.Variable)
		rows = append(rows, row)
		for _, x := range members {
			grouped[x] = true
		}
	}
	return rows, grouped
}

// withParts adds, below each row of several names, a row for each name.
func (l *variableList) withParts(rows []named) (out []named) {
	for _, x := range rows {
		out = append(out, x)
		for i := range l.free {
			f := &l.free[i]
			if f.PID != x.PID || len(f.Names) < 2 || x.name != (&together{names: f.Names}).name() {
				continue
			}
			for _, member := range membersOf(l.all, f) {
				out = append(out, named{Variable: *member, name: variableName(*member), alone: words.Alone(member),
					part: true})
			}
		}
	}
	return out
}

// membersOf returns the variables that an entry's code deletes, in the order of all: the largest first.
func membersOf(all []model.Variable, f *model.Freeing) (out []*model.Variable) {
	for i := range all {
		if all[i].PID == f.PID && slices.Contains(f.Names, all[i].Name) {
			out = append(out, &all[i])
		}
	}
	return out
}

// isNotebooks reports whether a variable belongs to a notebook, or to a library that the notebook uses. It is false for
// names of worker processes, and for those that Python, IPython and Jupyter keep for themselves.
func (l *variableList) isNotebooks(x *model.Variable) bool {
	if l.children[x.PID] && len(l.children) > 1 {
		return false
	}
	return !x.IsInterpreters()
}

// unnamed writes the number and the bytes of the names without a row: rest, and those that the report does not list.
func (v Remains) unnamed(rest []model.Variable, names []model.Names) {
	count, bytes, complete := int64(len(rest)), int64(0), true
	for _, x := range rest {
		bytes += x.Bytes
	}
	for _, n := range names {
		count += n.Unlisted
		bytes += n.Bytes
		complete = complete && n.Complete
	}
	if count > 0 {
		v.Note("… and %s, with %s together.", words.Plural(int(count), "more name"), words.Bytes(bytes))
	}
	if !complete {
		v.Prose("", doc.Yellow("≥ marks a lower bound: there was no time to look at all objects."))
	}
}

// variableName returns a variable's name for people, escaped: "df = a, b, a view: 1 MiB of 9 MiB".
func variableName(x model.Variable) string {
	name := escape.OneLine(x.Name, false, maxProse)
	if len(x.Also) > 0 {
		also := escape.OneLine(strings.Join(x.Also[:min(len(x.Also), 2)], ", "), false, maxName)
		if len(x.Also) > 2 {
			also += ", …"
		}
		name += " = " + also
	}
	if x.BaseBytes > 0 {
		name += ", a view: " + words.Bytes(x.ViewBytes) + " of " + words.Bytes(x.BaseBytes)
	}
	return escape.Bounded(name, 2*maxName)
}

// maker returns the stack of a variable's largest piece, in words.
func maker(x model.Variable) string {
	switch {
	case len(x.Stack) > 0:
		return Who(x.Stack)
	case x.Before:
		return "before the attach"
	}
	return ""
}

// together is memory that names hold together: it is freed once all of them are deleted.
type together struct {
	names []string // by [model.Variable.Name]
	bytes int64
	exact bool
	all   []*model.Variable // of these names, the largest first
	// collects: the code that frees it also runs the collector.
	collects bool
	maps     []model.ResidentPart // the part of bytes that is of memory maps
}

// name returns the names for people, such as "df + top + Out[2]".
func (t *together) name() string {
	const few = 3
	var parts []string
	for _, name := range t.names[:min(len(t.names), few)] {
		parts = append(parts, escape.Bounded(escape.OneLine(name, false, maxProse), maxName))
	}
	if len(t.names) == 1 && len(t.all) == 1 { // other names of the same object
		parts[0] = variableName(model.Variable{Name: t.names[0], Also: t.all[0].Also})
	}
	if more := len(t.names) - few; more > 0 {
		parts = append(parts, words.Plural(more, "more name"))
	}
	return strings.Join(parts, " + ")
}

// Which columns of a data frame have rows of their own below it, without --full.
const (
	maxColumns     = 3       // rows
	leastColumn    = 1 << 20 // bytes that a column must have
	shareOfColumns = 20      // a column must also have this part, one in 20, of the frame
)

// columnRows adds rows for the large columns of a data frame, in the column of names: "sku: object, 122.00 MiB". A last
// row has the others.
func columnRows(t *doc.Table, x model.Variable, full bool) {
	if len(x.Columns) < 2 {
		return
	}
	shown := 0
	line := func(text string) {
		shown++
		t.Row("", "", doc.Dim("  "+text))
	}
	least := max(leastColumn, max(x.Bytes, x.Reaches)/shareOfColumns)
	rest, bytes, exact := x.MoreColumns, x.RestColumns, true
	for i, c := range x.Columns {
		if isFolded := i >= maxColumns || c.Bytes < least; isFolded && !full {
			rest, bytes, exact = rest+1, bytes+c.Bytes, exact && c.Exact
			continue
		}
		line(escape.Bounded(escape.OneLine(c.Name, false, maxProse), maxName) + ": " + dtypeOf(c) +
			words.BytesOrMore(c.Bytes, c.Exact))
	}
	if shown > 0 && rest > 0 {
		line("… " + words.Plural(int(rest), "more column") + ": " + words.BytesOrMore(bytes, exact))
	}
}

// dtypeOf returns a column's data type with a comma behind it; "" if it has none.
func dtypeOf(c model.Column) string {
	if c.DType == "" {
		return ""
	}
	return escape.Bounded(c.DType, maxName) + ", "
}

// VariableCells returns the cells of a row about a variable: alone, reaches, name, type, shape and its stack.
func VariableCells(x model.Variable) [6]string {
	return [6]string{words.Alone(&x), words.Reaches(&x), variableName(x), x.Type, Shape(x), maker(x)}
}

// Shape returns a variable's shape as people write it, escaped: 300 × 400 float64, or a length.
func Shape(x model.Variable) string { return escape.Bounded(words.Shape(&x), maxName) }

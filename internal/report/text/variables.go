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
	maxVariables  = 8
	leastVariable = 64 << 10 // bytes that a variable must hold or reach to have a row
	leastShared   = 1 << 20  // bytes that names must hold together to have a row together
	foldedShare   = 100      // smaller ones than this part of the largest have no row
)

// named is a row of the list of variables: a name, or several that hold memory together.
type named struct {
	model.Variable
	name  string
	size  int64
	alone string
	part  bool // of a row of several
}

// Remains shows the remaining memory: names, resident memory, code to free it.
type Remains struct {
	*doc.Document
	Full      bool
	Processes []model.Process
}

func remainsOf(v *view) Remains { return Remains{v.Document, v.o.Full, v.r.Processes} }

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
		t.Row(x.alone, doc.Dim(reachesOf(x.Variable)), name, escape.Bounded(x.Type, maxName), shapeOf(x.Variable),
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

// rows returns the variables with a row, the largest first by held or reached memory: with --full all names, and
// otherwise the notable ones.
func (l *variableList) rows() (rows []named, rest []model.Variable) {
	rows, grouped := l.groups()
	for i := range l.all {
		if x := &l.all[i]; !grouped[x] {
			rows = append(rows, named{Variable: *x, name: variableName(*x), size: x.Size(), alone: aloneOf(*x)})
		}
	}
	slices.SortStableFunc(rows, func(a, b named) int { return cmp.Compare(b.size, a.size) })
	if l.full {
		return l.withParts(rows), nil
	}
	kept := rows[:0]
	largest := int64(0)
	for _, x := range rows {
		if l.isNotebooks(&x.Variable) && len(kept) < maxVariables && x.size >= max(leastVariable, largest/foldedShare) {
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
		all := membersOf(l.all, f)
		if len(all) < 2 || f.Shared < leastShared {
			continue
		}
		one := named{Variable: *all[0], name: (&together{names: f.Names}).name(),
			size: f.Predicted + f.Device + model.SumOf(f.Maps)}
		one.Bytes, one.Device, one.Exact, one.Reaches = f.Predicted, f.Device, f.Exact, 0
		one.Maps = f.Maps
		one.alone = aloneOf(one.Variable)
		rows = append(rows, one)
		for _, x := range all {
			grouped[x] = true
		}
	}
	return rows, grouped
}

// withParts adds, below each row of several, a row for each name.
func (l *variableList) withParts(rows []named) (out []named) {
	for _, x := range rows {
		out = append(out, x)
		for i := range l.free {
			f := &l.free[i]
			if f.PID != x.PID || len(f.Names) < 2 || x.name != (&together{names: f.Names}).name() {
				continue
			}
			for _, one := range membersOf(l.all, f) {
				out = append(out, named{Variable: *one, name: variableName(*one), alone: aloneOf(*one), part: true})
			}
		}
	}
	return out
}

// membersOf returns the variables that an entry lets go of, the largest first.
func membersOf(all []model.Variable, f *model.Freeing) (out []*model.Variable) {
	for i := range all {
		if all[i].PID == f.PID && slices.Contains(f.Names, all[i].Name) {
			out = append(out, &all[i])
		}
	}
	return out
}

// isNotebooks reports whether a variable belongs to a notebook, or to a library that it works with. The names of
// workers, and those that Python, IPython and Jupyter keep for themselves, do not concern the reader of a report.
func (l *variableList) isNotebooks(x *model.Variable) bool {
	if l.children[x.PID] && len(l.children) > 1 {
		return false
	}
	return !isInterpreters(x)
}

// unnamed counts names without a row.
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
		v.Prose("", doc.Yellow("≥: there were more objects than could be looked at in time."))
	}
}

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

func aloneOf(x model.Variable) string {
	bytes := x.Bytes + model.SumOf(x.Maps)
	text := words.Bytes(bytes)
	switch {
	case x.Device > 0 && bytes < leastVariable:
		text = words.Bytes(x.Device) + " GPU"
	case x.Device > 0:
		text += " + " + words.Bytes(x.Device) + " GPU"
	case bytes == 0:
		text = "shared"
	}
	if !x.Exact && bytes > 0 {
		text = "≥ " + text
	}
	return text
}

func reachesOf(x model.Variable) string {
	if x.Reaches <= 0 || x.Reaches == x.Bytes {
		return ""
	}
	return words.Bytes(x.Reaches)
}

// shapeOf returns a shape as people write it: 300 × 400 float64, or a length.
func shapeOf(x model.Variable) string {
	var parts []string
	for _, n := range x.Shape {
		parts = append(parts, fmt.Sprint(n))
	}
	text := strings.Join(parts, " × ")
	if text == "" && x.Length != nil {
		text = "len " + fmt.Sprint(*x.Length)
	}
	return escape.Bounded(strings.TrimSpace(text+" "+x.DType), maxName)
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

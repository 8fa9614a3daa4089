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

// rows returns the variables with a row, the largest first by held or reached memory: with --full all names, and
// otherwise the notable ones.
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
		one.alone = words.Alone(&one.Variable)
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
				out = append(out, named{Variable: *one, name: variableName(*one), alone: words.Alone(one), part: true})
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
		v.Prose("", doc.Yellow("≥ marks a lower bound: there was no time to look at all objects."))
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

// interpreters are modules of the interpreter and of notebook software: the memory of their names is a cache, and goes
// with no name of the notebook's.
var interpreters = []string{
	"IPython", "_frozen_importlib", "_sre", "_strptime", "abc", "asyncio", "builtins", "codecs", "comm", "copyreg",
	"ctypes", "debugpy", "dis", "encodings", "fnmatch", "functools", "gc", "importlib", "inspect", "ipykernel",
	"ipython_genutils", "ipywidgets", "jedi", "jupyter_client", "jupyter_core", "keyword", "linecache", "locale",
	"logging", "matplotlib_inline", "mimetypes", "opcode", "parso", "pkg_resources", "pkgutil", "prompt_toolkit",
	"pydevd", "pydoc_data", "pygments", "re", "site", "sre_compile", "sre_constants", "sre_parse", "stack_data", "sys",
	"sysconfig", "token", "tokenize", "tornado", "traceback", "traitlets", "types", "typing", "unicodedata", "warnings",
	"wcwidth", "zipimport", "zmq",
}

// isInterpreters reports whether a variable is a cache of the interpreter's or of IPython's.
func isInterpreters(x *model.Variable) bool {
	if x.Kind != "module" {
		return false
	}
	root, _, _ := strings.Cut(x.Name, ".")
	return slices.Contains(interpreters, root)
}

// together is memory that one name or several names hold: it goes if all of them let go.
type together struct {
	names []string // by [model.Variable.Name]
	bytes int64
	exact bool
	all   []*model.Variable // of these names, the largest first
	// collects: garbage goes with it.
	collects bool
	maps     []model.ResidentPart // of the bytes, those of memory maps
}

// name returns "df + top + Out[2]".
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

// Which columns of a data frame have rows of their own below it.
const (
	maxColumns     = 3       // without --full
	leastColumn    = 1 << 20 // bytes
	shareOfColumns = 20      // of the frame, one in …
)

// columnRows adds rows for the important columns of a data frame, in the column of names: "sku: object, 122.00 MiB".
// One row has the rest.
func columnRows(t *doc.Table, x model.Variable, full bool) {
	if len(x.Columns) < 2 {
		return
	}
	shown := 0
	line := func(text string) {
		shown++
		t.Row("", "", doc.Dim("  "+text))
	}
	rest, bytes, exact := x.MoreColumns, x.RestColumns, true
	for i, c := range x.Columns {
		if !full && (i >= maxColumns || c.Bytes < max(leastColumn, max(x.Bytes, x.Reaches)/shareOfColumns)) {
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

package frames

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// narrower is a column with the type that it could be read as.
type narrower struct {
	column string
	dtype  string
	// saves are the bytes of the column that would go.
	saves int64
	// groupings are calls of groupby and pivot_table that have to leave out categories without rows.
	groupings []read
	// ordered: a use puts rows or groups in the order of the values.
	ordered bool
}

// narrow finds columns that read_csv could read as a smaller type.
//
// The rule: pd.read_csv has no dtype; a column is int64 and its values, at the session's end, fit a smaller integer, or
// it has strings of few different values; each later use of the column gives the same result with the other type.
func (b *book) narrow() (found []evidence.Candidate) {
	for _, r := range b.readings() {
		if r.usage.whole || keyword(r.call, "dtype") != nil || keyword(r.call, "converters") != nil ||
			keyword(r.call, "chunksize") != nil || keyword(r.call, "iterator") != nil || len(r.call.Args) > 2 {
			continue
		}
		var numbers, texts []narrower
		for i := range r.frame.v.Columns {
			c := &r.frame.v.Columns[i]
			if one, ok := r.narrower(c); ok && one.dtype == "category" {
				texts = append(texts, one)
			} else if ok {
				numbers = append(numbers, one)
			}
		}
		if c, ok := b.typed(r, "category", texts); ok {
			found = append(found, c)
		}
		if c, ok := b.typed(r, "dtypes", numbers); ok {
			found = append(found, c)
		}
	}
	return found
}

// narrower returns the smaller type of a column; false if there is none, or a use of it is in the way.
func (r *reading) narrower(c *model.Column) (one narrower, ok bool) {
	_, stored := r.usage.stores[c.Name]
	if stored || r.usage.isNew(c.Name) || r.frame.rows < 1 {
		return one, false
	}
	one.column = c.Name
	switch {
	case c.DType == "int64":
		one.dtype, one.saves = fits(c, r.frame.rows)
		ok = one.saves > 0 && r.allows(c.Name, integer)
	case c.DType == "object":
		one.dtype, one.saves = "category", categorized(c, r.frame.rows)
		ok = one.saves > 0 && !r.usage.summed && r.allows(c.Name, category)
	}
	for _, use := range r.usage.reads[c.Name] {
		if use.group {
			one.groupings = append(one.groupings, use)
		}
		if use.call != nil {
			method, _, _ := r.usage.b.method(use.call)
			one.ordered = one.ordered || use.group || method == "sort_values"
		}
	}
	return one, ok
}

// fits returns the smallest integer type that holds all values of a column, and the bytes that it saves.
func fits(c *model.Column, rows int64) (string, int64) {
	if c.Contents == nil || c.Contents.IsSample() || c.Contents.Elements != rows {
		return "", 0
	}
	sizes := map[string]int64{"int8": 1, "int16": 2, "int32": 4}
	size := sizes[c.Contents.Fits]
	if size == 0 {
		return "", 0
	}
	return c.Contents.Fits, c.Bytes - size*rows
}

// Bounds on categories.
const (
	leastText  = 50 // bytes of a string without characters
	mostShare  = 20 // one category for so many rows
	mostValues = 32_000
)

// categorized returns the bytes that a column of strings saves as a category; 0 if it has many different strings, or
// not only strings. The strings of a column count once each, so that their memory bounds their number.
func categorized(c *model.Column, rows int64) int64 {
	if !c.Exact {
		return 0
	}
	strings := c.Bytes - pointer*rows
	different := strings / leastText
	if c.Contents != nil && !c.Contents.IsSample() && c.Contents.Distinct > 0 {
		different = c.Contents.Distinct
	}
	if strings <= 0 || different > min(rows/mostShare, mostValues) {
		return 0
	}
	code := int64(1)
	if different > 127 {
		code = 2
	}
	return c.Bytes - code*rows - min(strings, different*2*leastText)
}

// integer and category report whether a use gives the same result with the smaller type.
type allowed func(b *book, r *read) bool

// allows reports whether each use of a column does.
func (r *reading) allows(column string, allowed allowed) bool {
	return !slices.ContainsFunc(r.usage.reads[column], func(use read) bool { return !allowed(r.usage.b, &use) })
}

// sums are methods of columns and groups with a result that does not depend on the size of integers.
var sums = []string{"sum", "mean", "median", "std", "var", "min", "max", "count", "nunique", "value_counts", "describe",
	"quantile", "isin", "between", "size", "corr", "idxmax", "idxmin", "hist", "plot", "any", "all", "head", "tail"}

func integer(b *book, r *read) bool {
	if r.node == nil {
		name, _, _ := b.method(r.call)
		return r.group || slices.Contains([]string{"agg", "aggregate", "sort_values", "pivot_table", "nlargest",
			"nsmallest", "merge", "drop_duplicates", "dropna"}, name)
	}
	if _, ok := r.node.(*syntax.Subscript); !ok {
		return false
	}
	switch p := b.parents[r.node].(type) {
	case *syntax.Attribute:
		return slices.Contains(sums, p.Attr)
	case *syntax.Compare:
		return true
	case *syntax.BinOp:
		return p.Op == "/"
	}
	return false
}

func category(b *book, r *read) bool {
	if r.node == nil {
		name, _, _ := b.method(r.call)
		return r.group || slices.Contains([]string{"sort_values", "drop_duplicates", "dropna"}, name)
	}
	if sub, ok := r.node.(*syntax.Subscript); !ok {
		return false
	} else if _, one := text(sub.Slice); !one {
		return false
	}
	switch p := b.parents[r.node].(type) {
	case *syntax.Attribute:
		return slices.Contains([]string{"str", "isin", "nunique", "count", "isna", "notna"}, p.Attr)
	case *syntax.Compare:
		return len(p.Ops) == 1 && (p.Ops[0] == "==" || p.Ops[0] == "!=") && isText(p.Comparators[0])
	}
	return false
}

func isText(e syntax.Expr) bool {
	_, ok := text(e)
	return ok
}

// stays is the share of a saving that is left behind the read: some memory between smaller blocks stays.
const stays = 0.97

// typed returns the advice to read columns as smaller types.
func (b *book) typed(r reading, kind string, columns []narrower) (c evidence.Candidate, ok bool) {
	if len(columns) == 0 {
		return c, false
	}
	var types, names []string
	changes := map[*evidence.Cell][]change{}
	saves := int64(0)
	for _, one := range columns {
		q, ok := quoted(r.s.Cell, one.column)
		dtype, _ := quoted(r.s.Cell, one.dtype)
		if !ok {
			return c, false
		}
		types, names, saves = append(types, q+": "+dtype), append(names, one.column), saves+one.saves
		if kind == "category" && !b.observed(one.groupings, changes) {
			return c, false
		}
	}
	change, ok := withArgument(r.s.Cell.Window.Source, r.call, "dtype={"+strings.Join(types, ", ")+"}")
	if !ok {
		return c, false
	}
	changes[r.s.Cell] = append(changes[r.s.Cell], change)
	var edits []model.AdviceEdit
	for _, cell := range b.n.Cells {
		if len(changes[cell]) > 0 {
			more, ok := rewrite(cell, changes[cell]...)
			if !ok {
				return c, false
			}
			edits = append(edits, more...)
		}
	}
	if kind == "category" {
		more, ok := b.sorted(r, columns)
		if !ok {
			return c, false
		}
		edits = append(edits, more...)
		slices.SortStableFunc(edits, func(a, b model.AdviceEdit) int {
			return cmp.Or(cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.StartLine, b.StartLine))
		})
	}
	part := float64(saves) / float64(r.frame.total)
	c = evidence.Candidate{
		Kind: kind, Cell: r.s.Cell, Line: r.s.Line, Names: names, Accuracy: model.SavesBound,
		Edits: edits, Of: r.key() + kind,
	}
	if kind == "category" {
		c.Title = wording.ColumnsOfText(r.name, names, saves)
		c.Changes = []string{wording.CategoriesChange()}
		c.Falls = r.fallsOfTexts(columns, saves)
	} else {
		c.Falls = r.fallsOfNumbers(part)
		c.Title = wording.ColumnsOfNumbers(r.name, names, saves)
		c.Changes = []string{wording.IntegersChange()}
		c.Unknown = []string{wording.NextFile()}
	}
	return c, true
}

// sorted returns the edits that put categories in order where uses depend on it. A file is read in pieces, and the
// categories of later pieces come behind those of the first; groups by categories without an order come as they appear.
func (b *book) sorted(r reading, columns []narrower) (edits []model.AdviceEdit, ok bool) {
	var lines []string
	for _, one := range columns {
		if q, ok := quoted(r.s.Cell, one.column); ok && one.ordered {
			column := r.name + "[" + q + "]"
			lines = append(lines, column+" = "+column+".cat.reorder_categories(sorted("+column+
				".cat.categories), ordered=True)")
		}
	}
	if len(lines) == 0 {
		return nil, true
	}
	return b.n.Insert(r.s, strings.Join(lines, "\n"))
}

// fallsOfTexts returns by how much moments would be lower if columns of strings were categories.
//
// The read: all columns are there twice when pandas joins them to blocks. With categories, pandas 1.5 first makes
// pointers of them again, for one of them twice. Groups by a category: its codes are there once more.
func (r *reading) fallsOfTexts(columns []narrower, saves int64) func(*evidence.Moment) int64 {
	pointers := pointer * r.frame.rows
	codes := pointers*int64(len(columns)) - saves
	reads := max(0, min(r.frame.total-pointers, 2*pointers*int64(len(columns)))-codes)
	made, rest := by(r.s), r.falls(0, float64(saves)/float64(r.frame.total), false)
	grouped := map[*evidence.Statement]int64{}
	for _, one := range columns {
		for _, use := range one.groupings {
			grouped[use.at] += pointers - one.saves
		}
	}
	return func(m *evidence.Moment) int64 {
		if m.Statement == r.s {
			return min(reads, m.Bytes(func(s *evidence.Site) bool { return made(s) && s.Meter == "cpu.numpy" }))
		}
		return max(0, rest(m)-grouped[m.Statement])
	}
}

// castBytes are at most left of what a reader takes for a piece of a file, of which it first makes int64.
const castBytes = 12 << 20

// fallsOfNumbers returns by how much moments would be lower if columns of integers were smaller by a part of the frame.
func (r *reading) fallsOfNumbers(part float64) func(*evidence.Moment) int64 {
	falls := r.falls(part, stays*part, false)
	return func(m *evidence.Moment) int64 {
		if m.Statement == r.s {
			return max(0, falls(m)-castBytes)
		}
		return falls(m)
	}
}

// observed adds the changes that groupby leaves out categories without rows; false where one cannot be made.
func (b *book) observed(groupings []read, changes map[*evidence.Cell][]change) bool {
	for _, g := range groupings {
		if keyword(g.call, "observed") != nil {
			continue
		}
		one, ok := withArgument(g.at.Cell.Window.Source, g.call, "observed=True")
		if !ok {
			return false
		}
		if !slices.Contains(changes[g.at.Cell], one) {
			changes[g.at.Cell] = append(changes[g.at.Cell], one)
		}
	}
	return true
}

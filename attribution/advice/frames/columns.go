package frames

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/attribution/advice/evidence"
	"ipytracer/attribution/syntax"
	"ipytracer/model"
	wording "ipytracer/model/words"
)

// Reading a CSV makes several copies of its numbers: joined from pieces, put together by type, joined again. Strings
// are there once, their pointers twice. These are the factors that a read was measured to have with pandas 1.5, for
// each byte of a column.
const (
	copiesOfNumbers  = 3.6
	copiesOfPointers = 2.0
	pointer          = 8
	// readerBytes are the reader's own buffers, whatever it reads.
	readerBytes = 8 << 20
)

// reading is a statement that reads a frame from a text file and gives it a name.
type reading struct {
	s     *evidence.Statement
	name  string
	call  *syntax.Call
	usage *usage
	frame frame
}

// readings returns the last run of each statement that reads a frame whose columns are known.
func (b *book) readings() (all []reading) {
	seen := map[syntax.Stmt]bool{}
	for _, s := range slices.Backward(b.n.Statements) {
		if s.Node == nil || seen[s.Node] {
			continue
		}
		seen[s.Node] = true
		name, value := assigned(s.Node)
		for name != "" { // the methods behind the read
			method, object, call := b.method(value)
			if !slices.Contains(keep, method) || call == nil {
				break
			}
			value = object
		}
		function, call := b.function(value)
		if name == "" || call == nil || !slices.Contains([]string{"read_csv", "read_table"}, function) || spread(call) {
			continue
		}
		u := b.usage(s, name)
		if f, ok := u.of(); ok {
			all = append(all, reading{s, name, call, u, f})
		}
	}
	return all
}

// weight returns the memory that a column has while it is read.
func weight(c *model.Column, rows int64) float64 {
	if c.DType != "object" {
		return copiesOfNumbers * float64(c.Bytes)
	}
	return copiesOfPointers*pointer*float64(rows) + float64(max(0, c.Bytes-pointer*rows))
}

// columns finds columns that read_csv reads and nothing uses.
//
// The rule: pd.read_csv has no usecols; every later use of the frame, and of frames made from it, names its columns;
// the columns that are left hold memory.
func (b *book) columns() (found []evidence.Candidate) {
	for _, r := range b.readings() {
		if r.usage.whole || r.usage.summed || keyword(r.call, "usecols") != nil || keyword(r.call, "names") != nil ||
			keyword(r.call, "header") != nil || keyword(r.call, "index_col") != nil ||
			keyword(r.call, "chunksize") != nil || keyword(r.call, "iterator") != nil {
			continue
		}
		if c, ok := b.unused(r); ok {
			found = append(found, c)
		}
	}
	return found
}

// unused returns the advice to read only the columns that are used.
func (b *book) unused(r reading) (c evidence.Candidate, ok bool) {
	used, ok := r.usage.used(r.frame)
	if !ok {
		return c, false
	}
	for _, k := range []string{"parse_dates", "dtype", "converters"} {
		columns, known := columnsIn(keyword(r.call, k))
		if !known {
			return c, false
		}
		used = append(used, columns...)
	}
	slices.Sort(used)
	used = slices.Compact(used)
	held, kept, other := r.parts(used)
	if len(used) == 0 || kept.bytes <= 0 || held.bytes <= kept.bytes {
		return c, false
	}
	var literals []string
	for _, column := range used {
		q, ok := quoted(r.s.Cell, column)
		if !ok {
			return c, false
		}
		literals = append(literals, q)
	}
	change, ok := withArgument(r.s.Cell.Window.Source, r.call, "usecols=["+strings.Join(literals, ", ")+"]")
	if !ok {
		return c, false
	}
	edits, ok := rewrite(r.s.Cell, change)
	if !ok {
		return c, false
	}
	part := 1 - kept.bytes/held.bytes
	c = evidence.Candidate{
		Kind: "columns", Cell: r.s.Cell, Line: r.s.Line, Names: []string{r.name}, Accuracy: model.SavesBound,
		Edits: edits, Of: r.key(), Falls: r.falls(1-kept.weight/held.weight, part, true),
		Title:   wording.ColumnsUnused(r.name, int(other), int64(held.bytes-kept.bytes), used),
		Changes: []string{wording.ColumnsGone(r.name)},
	}
	if len(r.usage.shown) > 0 {
		c.Changes = append(c.Changes, wording.FrameShown(r.name, placesOf(r.usage.shown)))
	}
	if len(r.usage.stores) > 0 {
		c.Accuracy = model.SavesGuess
	}
	return c, true
}

// key names the memory of the frame among candidates.
func (r *reading) key() string { return fmt.Sprint("read ", r.s.Window.ID) }

// part is the memory of some columns: at rest, and while they are read.
type part struct{ bytes, weight float64 }

// parts returns the memory of all columns that were read, of those that are used, and the number of the others.
func (r *reading) parts(used []string) (held, kept part, other int64) {
	listed := 0
	for i := range r.frame.v.Columns {
		c := &r.frame.v.Columns[i]
		one := part{float64(c.Bytes), weight(c, r.frame.rows)}
		uses := slices.Contains(used, c.Name)
		if !uses && r.usage.isNew(c.Name) {
			continue
		}
		held.bytes, held.weight = held.bytes+one.bytes, held.weight+one.weight
		if uses {
			listed++
			kept.bytes, kept.weight = kept.bytes+one.bytes, kept.weight+one.weight
		} else {
			other++
		}
	}
	rest := float64(r.frame.rest())
	news := int64(0)
	for column := range r.usage.stores {
		if r.usage.isNew(column) && r.frame.column(column) == nil {
			news++
		}
	}
	more, unlisted := max(0, r.frame.v.MoreColumns-news), int64(len(used)-listed)
	unlisted = min(unlisted, more)
	held.bytes, held.weight = held.bytes+rest*float64(more), held.weight+copiesOfNumbers*rest*float64(more)
	kept.bytes, kept.weight = kept.bytes+rest*float64(unlisted), kept.weight+copiesOfNumbers*rest*float64(unlisted)
	return held, kept, other + more - unlisted
}

// falls returns by how much moments would be lower if a part of the frame were not there: of the read itself by another
// part, because that makes several copies, and of those of all its memory or only of the blocks that it allocated.
func (r *reading) falls(reads, rests float64, all bool) func(*evidence.Moment) int64 {
	made := by(r.s)
	return func(m *evidence.Moment) int64 {
		switch {
		case m.Statement == r.s && all:
			return share(max(0, m.Peak-m.Start-readerBytes), reads)
		case m.Statement == r.s:
			return share(m.Bytes(func(s *evidence.Site) bool { return made(s) && s.Meter == "cpu.numpy" }), reads)
		case m.Order < r.s.Order:
			return 0
		}
		return share(m.Bytes(func(s *evidence.Site) bool {
			return made(s) && (all || s.Meter == "cpu.numpy") ||
				s.Statement != nil && r.usage.copies[s.Statement] && inManagers(s)
		}), rests)
	}
}

// columnsIn returns the columns that an argument names; none for no argument, false for one that may name others.
func columnsIn(e syntax.Expr) ([]string, bool) {
	switch a := e.(type) {
	case nil:
		return nil, true
	case *syntax.Dict:
		var all []string
		for _, key := range a.Keys {
			column, ok := text(key)
			if !ok {
				return nil, false
			}
			all = append(all, column)
		}
		return all, true
	case *syntax.Name, *syntax.Attribute: // dtype=str
		return nil, false
	}
	return texts(e)
}

// placesOf returns the places of statements.
func placesOf(all []*evidence.Statement) (places []*model.PlanPlace) {
	for _, s := range all {
		places = append(places, placeOf(s))
	}
	return places
}

// placeOf returns the place of a statement.
func placeOf(s *evidence.Statement) *model.PlanPlace {
	w := s.Cell.Window
	return &model.PlanPlace{PID: w.PID, Kernel: w.Kernel, Execution: w.Execution, ExecutionCount: w.ExecutionCount,
		Line: s.Line}
}

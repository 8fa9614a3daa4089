// Package parquet prints reports as Parquet files: one row a window, every figure in a column of its type. The columns
// and their content belong here; the encoding is parquet-go's.
package parquet

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"ipytracer/model"
)

// rowsOfGroup is the number of rows held before they are written.
const rowsOfGroup = 16 << 10

// Print writes a row for each window and, with kind "between", one for each stretch of time between cells. A missing
// value is null; the bound of a figure without a bound is null, as in JSON. Texts are the target's own, made valid
// UTF-8. The file's metadata has the certificate, the host, the meters and the processes, as JSON.
func Print(w io.Writer, r *model.Report) error {
	t := newTable(r.AllMeters(), r.Counts())
	out := parquet.NewGenericWriter[any](w, parquet.NewSchema("windows", t), parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(rowsOfGroup), parquet.CreatedBy("ipytracer", r.Host.Tracer, ""))
	for _, about := range []struct {
		key   string
		value any
	}{
		{"ipytracer.schema", model.Schema}, {"ipytracer.certificate", r.Certificate}, {"ipytracer.host", r.Host},
		{"ipytracer.meters", r.Meters}, {"ipytracer.processes", r.Processes},
	} {
		text, err := json.Marshal(about.value)
		if err != nil {
			return err
		}
		out.SetKeyValueMetadata(about.key, string(text))
	}
	for w := range r.AllPassing() {
		t.window(w)
		if err := t.put(out); err != nil {
			return err
		}
	}
	for b := range r.AllBetweenPassing() {
		t.between(b)
		if err := t.put(out); err != nil {
			return err
		}
	}
	return out.Close()
}

// table has the columns in their order, because a group of parquet-go has them by name only; and the unfinished row.
type table struct {
	parquet.Group
	names  []string
	at     map[string]int
	meters []string
	row    parquet.Row
	counts bool
}

// figure are the columns of one meter, each after the meter's id and a dot.
var figure = []string{"start", "peak", "end", "consumed", "peaked", "exact", "bound"}

// ofTree is the prefix of the columns of a process and its descendants together.
const ofTree = "tree."

// counterNames returns the columns of counters, in a session that counts.
func counterNames(counts bool) (names string) {
	if counts {
		for _, c := range new(model.Counters).All() {
			names += c.Name + " "
		}
	}
	return names
}

func newTable(meters []string, counts bool) *table {
	t := &table{Group: parquet.Group{}, at: map[string]int{}, meters: meters, counts: counts}
	number, truth, text := parquet.Int(64), parquet.Leaf(parquet.BooleanType),
		parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	for _, c := range []struct {
		names string
		of    parquet.Node
	}{
		{"kind", text}, {"id parent pid execution execution_count", number}, {"silent", truth}, {"name", text},
		{"line", number},
		{"status error note", text}, {"start_ns duration_ns cpu_ns after before", number},
		{counterNames(counts), number}, {"source", text}, {"source_truncated", truth},
	} {
		for name := range strings.FieldsSeq(c.names) {
			t.add(name, c.of)
		}
	}
	for _, before := range []string{"", ofTree} {
		for _, id := range meters {
			for _, name := range figure {
				of := number
				if name == "exact" {
					of = truth
				}
				t.add(before+clean(id)+"."+name, of)
			}
		}
	}
	return t
}

func (t *table) add(name string, of parquet.Node) {
	if _, twice := t.at[name]; twice {
		return
	}
	t.at[name] = len(t.names)
	t.names = append(t.names, name)
	t.Group[name] = parquet.Optional(of)
}

// Fields returns the columns in their order.
func (t *table) Fields() []parquet.Field {
	fields := t.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return t.at[a.Name()] - t.at[b.Name()] })
	return fields
}

func clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// begin begins a row of nulls.
func (t *table) begin() {
	t.row = t.row[:0]
	for i := range t.names {
		t.row = append(t.row, parquet.Value{}.Level(0, 0, i))
	}
}

func (t *table) put(out *parquet.GenericWriter[any]) error {
	_, err := out.WriteRows([]parquet.Row{t.row})
	return err
}

func (t *table) set(name string, v parquet.Value) {
	at := t.at[name]
	t.row[at] = v.Level(0, 1, at)
}

func (t *table) number(name string, n int64) { t.set(name, parquet.Int64Value(n)) }
func (t *table) truth(name string, v bool)   { t.set(name, parquet.BooleanValue(v)) }

// text adds a text, or null if there is none.
func (t *table) text(name, s string) {
	if s != "" {
		t.set(name, parquet.ByteArrayValue([]byte(clean(s))))
	}
}

func (t *table) window(w *model.Window) {
	t.begin()
	t.text("kind", w.Kind)
	t.number("id", int64(w.ID))
	t.number("parent", int64(w.Parent))
	t.number("pid", int64(w.PID))
	t.text("kernel", w.Kernel)
	if w.Execution > 0 {
		t.number("execution", int64(w.Execution))
	}
	if w.ExecutionCount != nil {
		t.number("execution_count", int64(*w.ExecutionCount))
	}
	t.truth("silent", w.Silent)
	t.text("name", w.Name)
	if w.Line > 0 {
		t.number("line", int64(w.Line))
	}
	t.text("status", w.Status)
	t.text("error", w.Error)
	t.text("note", w.Note)
	t.number("start_ns", w.StartNS)
	t.number("duration_ns", w.DurationNS)
	if w.CPUNS >= 0 {
		t.number("cpu_ns", w.CPUNS)
	}
	if t.counts && w.Counters != nil {
		for _, c := range w.Counters.All() {
			if c.Count >= 0 {
				t.number(c.Name, c.Count)
			}
		}
	}
	t.text("source", w.Source)
	t.truth("source_truncated", w.SourceTruncated)
	t.figures("", w.Meters)
	t.figures(ofTree, w.Tree)
}

func (t *table) between(b *model.Between) {
	t.begin()
	t.text("kind", "between")
	t.number("pid", int64(b.PID))
	t.text("kernel", b.Kernel)
	t.text("name", b.Label)
	t.text("note", b.Note)
	t.number("start_ns", b.StartNS)
	t.number("duration_ns", b.DurationNS)
	t.number("after", int64(b.After))
	t.number("before", int64(b.Before))
	t.figures("", b.Meters)
}

func (t *table) figures(before string, all map[string]model.Figure) {
	for _, id := range t.meters {
		f, ok := all[id]
		if !ok {
			continue
		}
		name := before + clean(id) + "."
		for i, n := range [...]int64{f.Start, f.Peak, f.End, f.Consumed, f.Peaked} {
			t.number(name+figure[i], n)
		}
		t.truth(name+"exact", f.Exact)
		if f.Bound != nil {
			t.number(name+"bound", *f.Bound)
		}
	}
}

package text

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

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

// holds returns the bytes of this memory that the names of an entry hold.
func (m memory) holds(f *model.Freeing) int64 {
	switch {
	case m.device() != "":
		return f.Device
	case f.InMemory != nil:
		return *f.InMemory + m.mapped(f.Maps)
	}
	return f.Predicted
}

// falls returns what the meter of this memory falls by with an entry.
func (m memory) falls(f *model.Freeing) int64 {
	if m.device() != "" {
		return f.Device
	}
	return f.Falls()
}

// entries returns the code that frees the ranking memory, in the order in which its predictions hold: of resident
// memory, that of the report.
func (o *leftover) entries() (all []model.Freeing) {
	for _, f := range o.r.ToFree {
		if f.PID == o.pid && o.falls(&f) >= worthAGap && !o.scattered {
			all = append(all, f)
		}
	}
	ordered := func(f model.Freeing) bool { return f.Resident != nil }
	if o.device() != "" || !slices.ContainsFunc(all, ordered) {
		slices.SortStableFunc(all, func(a, b model.Freeing) int { return cmp.Compare(o.falls(&b), o.falls(&a)) })
	}
	return all
}

// named returns the memory that a process's names hold at the end, alone or several together, the most first. It
// returns none if the GPU of such memory is not known.
func (o *leftover) named() (out []together) {
	if o.scattered {
		return nil
	}
	shared := map[string]bool{}
	for _, f := range o.r.ToFree {
		if f.PID != o.pid || len(f.Names) < 2 || f.Shared < worthAGap || o.holds(&f) < worthAGap {
			continue
		}
		one := together{names: f.Names, bytes: o.holds(&f), exact: f.Exact, collects: f.Collects, maps: f.Maps}
		for _, name := range f.Names {
			shared[name] = true
			i := slices.IndexFunc(o.r.Variables, func(x model.Variable) bool {
				return x.PID == o.pid && x.Name == name
			})
			if i >= 0 {
				one.all = append(one.all, &o.r.Variables[i])
			}
		}
		out = append(out, one)
	}
	for i := range o.r.Variables {
		if x := &o.r.Variables[i]; x.PID == o.pid && !shared[x.Name] && o.held(x) >= worthAGap && !isInterpreters(x) {
			out = append(out, together{
				names: []string{x.Name}, bytes: o.held(x), exact: x.Exact, all: []*model.Variable{x},
				maps: x.Maps,
			})
		}
	}
	slices.SortStableFunc(out, func(a, b together) int { return cmp.Compare(b.bytes, a.bytes) })
	return out
}

// unnamedLines returns the lines of cells with memory that is still there, but that no name holds: less what names
// hold.
func (o *leftover) unnamedLines(named []together) []model.Line {
	isCovered := func(h model.HeldPart) bool {
		return slices.ContainsFunc(named, func(t together) bool { return goesWith(&h, t.names, t.collects) })
	}
	out := o.left()
	for i := range out {
		if l := &out[i]; l.Held != nil {
			l.Left, l.Held = withoutParts(l, isCovered)
		}
	}
	return slices.DeleteFunc(out, func(l model.Line) bool {
		return l.Left < max(worthAGap, o.end/100) || l.Held == nil && slices.ContainsFunc(named, func(t together) bool {
			return slices.ContainsFunc(t.all, func(x *model.Variable) bool {
				return x.Execution == l.Execution && x.Line == l.Line
			})
		})
	})
}

// goesWith reports whether a part of a line goes when some names let go of it.
func goesWith(h *model.HeldPart, names []string, collects bool) bool {
	return (collects || !h.Waits) && !slices.ContainsFunc(h.Names, func(name string) bool {
		return !slices.Contains(names, name)
	})
}

// withoutParts returns what a line has left without some of its parts, and the other parts.
func withoutParts(l *model.Line, without func(model.HeldPart) bool) (left int64, others []model.HeldPart) {
	left, others = l.Left, []model.HeldPart{}
	for _, h := range l.Held {
		if without(h) {
			left -= h.Bytes
		} else {
			others = append(others, h)
		}
	}
	return left, others
}

// freeing returns the code to type, the most first, and its effect; "" for nothing. Code is whole, and what is not
// shown is summed up.
func (o *leftover) freeing() string {
	few := 3
	var parts []string
	all := o.entries()
	if o.full {
		few = len(all)
	}
	for _, f := range all {
		if len(parts) == few || !o.full && o.falls(&f) < o.falls(&all[0])/100 {
			break
		}
		parts = append(parts,
			escape.OneLine(f.Type, false,
				MaxCode)+" ("+o.goes(&f)+words.BytesOrMore(o.falls(&f), f.Exact)+words.Stays(&f)+")")
	}
	if more := o.moreEntries(len(parts)); more != "" {
		parts = append(parts, more)
	}
	for _, p := range o.toEnd() {
		parts = append(parts, escape.OneLine(p.Type, false, MaxCode)+" ("+words.Bytes(p.Bytes)+")")
	}
	return strings.Join(parts, " · ") + o.leaves()
}

// goes returns the words in front of an entry's size: it is that of objects where nobody knows by how much resident
// memory falls.
func (m memory) goes(f *model.Freeing) string {
	if m == residentMeter && f.OfObjects() {
		return words.Objects
	}
	return ""
}

// MaxCode is the most characters of code, which is never cut: more than any code that is written here.
const MaxCode = 1 << 12

// typedIn says which of several kernels code is for; "" if there is only one.
func typedIn(kernel string) string {
	if kernel == "" {
		return ""
	}
	return ", in a cell of " + escape.OneLine(kernel, false, maxProse)
}

// ToFree lists the code that frees memory of names.
func (v Remains) ToFree(all []model.Freeing) {
	if len(all) == 0 {
		return
	}
	v.Heading("To free it, type into a cell")
	v.Blank()
	for _, f := range all {
		v.WithCode("            ", []doc.Span{doc.Bold(escape.Pad(words.Freed(&f, WorthShowing), 12, true) + " ")},
			escape.OneLine(f.Type, false, MaxCode), doc.Dim(strings.TrimPrefix(words.Stays(&f)+typedIn(f.Kernel), ", ")))
	}
}

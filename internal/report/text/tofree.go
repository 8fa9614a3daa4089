package text

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// nothingNamed describes the holders of an idle kernel's memory where no name holds much of it.
func (o *leftover) nothingNamed() string {
	if !o.isLookedAt() {
		return "what holds it was not looked at to the end"
	}
	return "no name of the notebook's holds much; tracer audit says what modules, classes and cycles hold"
}

// isLookedAt reports whether a look at the process's objects came to its end.
func (o *leftover) isLookedAt() bool {
	return slices.ContainsFunc(o.r.Names, func(n model.Names) bool { return n.PID == o.pid })
}

// stillThere describes the remaining memory and its parts.
func (o *leftover) stillThere() string {
	text := words.Bytes(o.end) + o.when()
	if below := o.childBytes(); below > 0 {
		text = words.Bytes(o.end+below) + o.when() + ", with its children (" + words.Bytes(o.end) + " without)"
	}
	if more, known := o.sinceAttach(); known {
		text += ", " + words.SinceAttach(more, worthAGap)
	}
	if parts := words.Account(o.account(), mostLeft, o.start > 0); parts != "" && o.isWorthFreeing() {
		text += ": " + parts
	}
	return text
}

// assigned matches a line that assigns a name.
var assigned = regexp.MustCompile(`^\s*([\pL_][\pL\pN_]*)\s*=[^=]`)

// toFree names the names to delete, and what ends processes. If no name is known to hold memory, it gives the names
// that the lines assign. That is a hint, not more, because `scores = [m.fit(X).score(y) for m in models]` leaves its
// memory to models.
func (o *leftover) toFree() string {
	if named := o.named(); len(named) > 0 || o.freeing() != "" {
		text, rest := o.freeing(), o.beyondEntries(o.unnamedLines(named), named)
		switch {
		case text == "" && len(rest) > 0:
			return "no name of the notebook's holds much; " + o.beyondNames(&rest[0])
		case text == "":
			return "no name of the notebook's holds much"
		case len(rest) > 0:
			text += " · " + o.beyondNames(&rest[0])
		}
		return text
	}
	lines, looked := o.left(), o.isLookedAt()
	names := o.assignedBy(lines)
	text := "no name holds much alone; tracer audit --full says what holds it"
	switch {
	case !looked && len(names) == 0:
		return o.nobodyLooked()
	case len(names) == 0 && len(lines) > 0 && lines[0].Left >= worthAGap:
		return "no name is known to hold it; " + o.beyondNames(&lines[0])
	case len(names) == 0:
		return "no line of a cell keeps much memory that a name holds"
	case !looked:
		text = o.nobodyLooked()
	case isLost(&lines[0]):
		return "no name holds much alone; " + o.beyondNames(&lines[0])
	case o.scattered:
		text = "which GPU a name's memory is on is not known; tracer audit --full says what holds it"
	}
	return text + ": the lines that made it assign " + strings.Join(names, ", ")
}

// assignedBy returns the first names that lines assign, each with its size.
func (o *leftover) assignedBy(lines []model.Line) (names []string) {
	const few = 3
	seen := map[string]bool{}
	for _, l := range lines {
		if len(names) == few || l.Left < worthAGap || l.Function != "<module>" {
			continue
		}
		if m := assigned.FindStringSubmatch(o.textOf(l)); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			names = append(names, fmt.Sprintf("%s (%s)", m[1], words.Sampled(words.Bytes(l.Left), l.Sampled)))
		}
	}
	return names
}

// beyondNames says where to read on about memory of a line that no name holds, or how it was lost.
func (o *leftover) beyondNames(l *model.Line) string {
	if isLost(l) {
		text := words.Sampled(words.Bytes(min(l.Lost, l.Left)), l.Sampled) + " of " + words.Frame(&l.Frame) +
			" are lost in a cycle that the collector does not see: tracer audit has code that frees them"
		if l.Breaks != "" {
			text += ". Next time, run " + escape.OneLine(l.Breaks, false, MaxCode) + " before you delete the name"
		}
		return text
	}
	return "tracer audit --full says what holds " + words.Sampled(words.Bytes(l.Left), l.Sampled) + " of " +
		words.Frame(&l.Frame) + o.leadingTo(l)
}

// isLost reports whether at least half of what a line has left is lost in cycles.
func isLost(l *model.Line) bool {
	lost := min(l.Lost, l.Left)
	return lost >= worthAGap && lost >= l.Left/2
}

// nobodyLooked says why nobody knows what holds memory: no look at the process's objects came to its end.
func (o *leftover) nobodyLooked() string {
	if o.lives() {
		return fmt.Sprintf("nobody looked at what holds it to the end; sudo tracer audit %d looks again", o.pid)
	}
	return "nobody looked at what holds it, as the kernel had ended"
}

// leaves says what is left of the resident memory once all code to type is typed; "" where that is not known.
func (o *leftover) leaves() string {
	goes, exact, known := int64(0), true, true
	for _, f := range o.entries() {
		goes, known = goes+o.falls(&f), known && f.Resident != nil
		exact = exact && f.Exact
	}
	for _, p := range o.toEnd() {
		goes += p.Bytes
	}
	left := o.end + o.childBytes() - goes
	switch {
	case goes == 0 || left <= 0 || o.memory != residentMeter:
		return ""
	case !known:
		return " → by how much memory falls is not known"
	case !exact: // what goes is a lower bound
		return " → leaves at most " + words.Bytes(left)
	}
	return " → leaves " + words.Bytes(left)
}

// moreEntries sums up the entries that are not shown; "" for none.
func (o *leftover) moreEntries(shown int) string {
	rest, exact := int64(0), true
	all := o.entries()[shown:]
	for _, f := range all {
		rest += o.falls(&f)
		exact = exact && f.Exact
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("and %s in %d more (--full)", words.BytesOrMore(rest, exact), len(all))
}

const (
	mostLeading = 2               // names that lead to memory which something else has, too
	taskType    = "_asyncio.Task" // since CPython 3.6
)

// leadingTo returns the names that lead to as much as a line has left, though not alone; "" for none. Of tasks of
// asyncio it says what ends them: the event loop has them, too.
func (o *leftover) leadingTo(l *model.Line) string {
	var all []*model.Variable
	for i := range o.r.Variables {
		x := &o.r.Variables[i]
		if x.PID == o.pid && x.Kind == "variable" && x.Reaches-x.Bytes >= max(worthAGap, l.Left) && x.Device == 0 {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Variable) int { return cmp.Compare(a.Reaches, b.Reaches) })
	var parts []string
	for _, x := range all[:min(len(all), mostLeading)] {
		name := escape.OneLine(x.Name, false, MaxCode)
		other := "something else has, too"
		if x.Type == taskType {
			other = "the event loop has, too: " + name + ".cancel(); del " + name + " ends it"
		}
		parts = append(parts, name+" leads to "+words.Bytes(x.Reaches-x.Bytes)+" that "+other)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
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

// code returns the code to type, each line in one piece.
func (o *leftover) code() (all []string) {
	for _, f := range o.entries() {
		all = append(all, escape.OneLine(f.Type, false, MaxCode))
	}
	for _, p := range o.toEnd() {
		all = append(all, escape.OneLine(p.Type, false, MaxCode))
	}
	return all
}

// beyondEntries returns lines with memory that neither names hold nor the code to type frees, the most first.
func (o *leftover) beyondEntries(all []model.Line, named []together) []model.Line {
	entries := o.entries()
	isFreed := func(h model.HeldPart) bool {
		return slices.ContainsFunc(entries, func(f model.Freeing) bool { return goesWith(&h, f.Names, f.Collects) })
	}
	all = slices.Clone(all)
	takeParts(all, isFreed)
	all = slices.DeleteFunc(all, func(l model.Line) bool { return l.Left < worthAGap })
	slices.SortStableFunc(all, func(a, b model.Line) int { return cmp.Compare(b.Left, a.Left) })
	if slices.ContainsFunc(all, func(l model.Line) bool { return l.Held == nil }) {
		return o.beyondSizes(all, named)
	}
	return all
}

// beyondSizes is beyondEntries where it is not known which memory names hold: lines are left out if the code frees so
// much more than the names.
func (o *leftover) beyondSizes(all []model.Line, named []together) []model.Line {
	more := int64(0)
	for _, f := range o.entries() {
		more += o.holds(&f)
	}
	for _, t := range named {
		more -= t.bytes
	}
	for i := range all {
		if more -= all[i].Left; more < -all[i].Left/smallPart {
			return all[i:]
		}
	}
	return nil
}

// keptByMalloc describes malloc's free part of the remaining memory, and the code to return it; "" if it is almost
// nothing.
func (o *leftover) keptByMalloc() string {
	if r := o.resident(); r != nil && r.Trim >= max(worthAGap, r.Total/smallPart) {
		return words.Bytes(r.Trim) + " of it free, for blocks to come; to give it back: " + model.MallocTrim
	}
	return ""
}

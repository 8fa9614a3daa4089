package text

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// nothingNamed says that no name holds much of an idle kernel's memory, and what to run instead.
func (o *leftover) nothingNamed() string {
	if !o.isLookedAt(false) {
		return "what holds it is not known: the look at its objects did not finish"
	}
	return "no name of the notebook's holds much; tracer audit says what modules, classes and cycles hold"
}

// isLookedAt reports whether a look at the process's objects came to its end; or, if it is to be half, ended before.
func (o *leftover) isLookedAt(half bool) bool {
	return slices.ContainsFunc(o.r.Names, func(n model.Names) bool { return n.PID == o.pid && n.Complete != half })
}

// stillThere describes the remaining memory and its parts. Further forms name fewer parts, the last ones without how
// much more it is than at the attach.
func (o *leftover) stillThere(prefix string) (forms []doc.Form) {
	account, apart, below := o.account(), words.Apart(o.resident()), o.childBytes()
	brief, since := words.Bytes(o.end+below)+o.when(), ""
	if below > 0 {
		since = ", with its children (" + words.Bytes(o.end) + " without)"
	}
	if more, known := o.sinceAttach(); known {
		since += ", " + words.SinceAttach(more, worthAGap)
	}
	add := func(text string, most int) {
		parts := words.Account(account, most, o.start > 0)
		if text = prefix + text + apart; parts != "" && o.isWorthFreeing() {
			text += ": " + parts
		}
		forms = append(forms, doc.Form{Text: text})
	}
	for most := mostLeft; most > 0; most-- {
		add(brief+since, most)
	}
	add(brief, 2)
	add(brief, 1)
	add(words.Bytes(o.end+below), 1)
	return forms
}

// assigned matches a line that assigns a name.
var assigned = regexp.MustCompile(`^\s*([\pL_][\pL\pN_]*)\s*=[^=]`)

// toFree returns the code that deletes names and ends processes, at most so many pieces. If no name is known to hold
// memory, it returns the names that the lines assign. These are only a hint: `scores = [m.fit(X).score(y) for m in
// models]` leaves its memory to models.
func (o *leftover) toFree(most int) string {
	named, text := o.named(), o.freeing(most)
	if text == "" && (len(named) == 0 || o.isLookedAt(true)) {
		return o.assignedNames()
	}
	rest := o.beyondEntries(o.unnamedLines(named), named)
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

// assignedNames returns the names that the lines with the most memory assign, or says why there are none to return.
func (o *leftover) assignedNames() string {
	lines, looked := o.left(), o.isLookedAt(false)
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

// beyondNames says how a line's memory was lost or, if it was not, what tells more about its holders.
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
		return fmt.Sprintf("nobody looked at what holds it to the end; sudo tracer audit %d looks longer", o.pid)
	}
	return "nobody looked at what holds it, as the kernel had ended"
}

// leaves says how much resident memory is left once the reader has typed all code; "" if that is not known.
func (o *leftover) leaves() string {
	freed, exact, known := int64(0), true, true
	for _, f := range o.entries() {
		freed += o.freedBy(&f)
		known = known && f.Resident != nil
		exact = exact && f.Exact
	}
	for _, p := range o.toEnd() {
		freed += p.Bytes
	}
	left := o.end + o.childBytes() - freed
	switch {
	case freed == 0 || left <= 0 || o.memory != residentMeter:
		return ""
	case !known:
		return " → by how much memory falls is not known"
	case !exact: // freed is a lower bound
		return " → leaves at most " + words.Bytes(left)
	}
	return " → leaves " + words.Bytes(left)
}

// moreEntries sums up the entries behind the first shown ones; "" if there are none.
func (o *leftover) moreEntries(shown int) string {
	bytes, exact := int64(0), true
	rest := o.entries()[shown:]
	for _, f := range rest {
		bytes += o.freedBy(&f)
		exact = exact && f.Exact
	}
	if len(rest) == 0 {
		return ""
	}
	if shown == 0 {
		return words.BytesOrMore(bytes, exact) + " by " + words.Plural(len(rest), "piece") + " of code (--full)"
	}
	return fmt.Sprintf("and %s in %d more (--full)", words.BytesOrMore(bytes, exact), len(rest))
}

const (
	mostEntries = 3               // most pieces of code to type
	mostLeading = 2               // most names that [leftover.leadingTo] lists
	taskType    = "_asyncio.Task" // since CPython 3.6
)

// leadingTo returns names that share at least as much memory as a line has left with other holders; "" for none. For a
// task of asyncio, which the event loop holds as well, it returns the code that ends the task.
func (o *leftover) leadingTo(l *model.Line) string {
	sharedBytes := func(x *model.Variable) int64 { return x.Reaches - x.Bytes }
	var leading []*model.Variable
	for i := range o.r.Variables {
		x := &o.r.Variables[i]
		isName := x.PID == o.pid && x.Kind == "variable"
		if isName && sharedBytes(x) >= max(worthAGap, l.Left) && x.Device == 0 {
			leading = append(leading, x)
		}
	}
	slices.SortStableFunc(leading, func(a, b *model.Variable) int { return cmp.Compare(a.Reaches, b.Reaches) })
	var parts []string
	for _, x := range leading[:min(len(leading), mostLeading)] {
		name := escape.OneLine(x.Name, false, MaxCode)
		other := "something else has, too"
		if x.Type == taskType {
			other = "the event loop has, too: " + name + ".cancel(); del " + name + " ends it"
		}
		parts = append(parts, name+" leads to "+words.Bytes(sharedBytes(x))+" that "+other)
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

// freeing returns the code to type, the first of [leftover.entries] first, with the effect of each; "" for none. Code
// is never cut. Entries that are not shown are summed up.
func (o *leftover) freeing(most int) string {
	var parts []string
	entries := o.entries()
	if o.full {
		most = len(entries)
	}
	for _, f := range entries {
		isTiny := o.freedBy(&f) < o.freedBy(&entries[0])/100
		if len(parts) == most || isTiny && !o.full {
			break
		}
		effect := o.sizePrefix(&f) + words.BytesOrMore(o.freedBy(&f), f.Exact) + words.Stays(&f)
		parts = append(parts, escape.OneLine(f.Type, false, MaxCode)+" ("+effect+")")
	}
	if more := o.moreEntries(len(parts)); more != "" {
		parts = append(parts, more)
	}
	for _, p := range o.toEnd() {
		parts = append(parts, escape.OneLine(p.Type, false, MaxCode)+" ("+words.Bytes(p.Bytes)+")")
	}
	return strings.Join(parts, " · ") + o.leaves()
}

// code returns the code to type, an item for each entry.
func (o *leftover) code() (pieces []string) {
	for _, f := range o.entries() {
		pieces = append(pieces, escape.OneLine(f.Type, false, MaxCode))
	}
	for _, p := range o.toEnd() {
		pieces = append(pieces, escape.OneLine(p.Type, false, MaxCode))
	}
	return pieces
}

// beyondEntries returns the lines without the memory that the code to type frees, the largest first. unnamed are the
// lines whose memory no name holds.
func (o *leftover) beyondEntries(unnamed []model.Line, named []together) []model.Line {
	entries := o.entries()
	isFreed := func(h model.HeldPart) bool {
		return slices.ContainsFunc(entries, func(f model.Freeing) bool { return isFreedBy(&h, f.Names, f.Collects) })
	}
	lines := slices.Clone(unnamed)
	removeHeld(lines, isFreed)
	lines = slices.DeleteFunc(lines, func(l model.Line) bool { return l.Left < worthAGap })
	slices.SortStableFunc(lines, func(a, b model.Line) int { return cmp.Compare(b.Left, a.Left) })
	if slices.ContainsFunc(lines, func(l model.Line) bool { return l.Held == nil }) {
		return o.beyondSizes(lines, named)
	}
	return lines
}

// beyondSizes is used if the holders of some lines are not known. What the code frees beyond the memory of the names is
// then assumed to be the memory of the largest lines. beyondSizes returns the lines behind these.
func (o *leftover) beyondSizes(lines []model.Line, named []together) []model.Line {
	excess := int64(0)
	for _, f := range o.entries() {
		excess += o.ofNames(&f)
	}
	for _, t := range named {
		excess -= t.bytes
	}
	for i := range lines {
		if excess -= lines[i].Left; excess < -lines[i].Left/smallPart {
			return lines[i:]
		}
	}
	return nil
}

// keptByMalloc returns the size of malloc's free part of the remaining memory, and the code to give it back to Linux,
// in two forms; nil if the part is small.
func (o *leftover) keptByMalloc(prefix string) (forms []doc.Form) {
	r := o.resident()
	if r == nil || r.Trim < max(worthAGap, r.Total/smallPart) {
		return nil
	}
	for _, text := range [...]string{" of it free, for blocks to come; to give it back: ", " free: "} {
		text = prefix + words.Bytes(r.Trim) + text + model.MallocTrim
		forms = append(forms, doc.Form{Text: text, Code: []string{model.MallocTrim}})
	}
	return forms
}

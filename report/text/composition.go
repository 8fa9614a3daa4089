package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
)

// The largest number of named parts of the highest moment, and the reciprocal of the least share of a part.
const (
	mostParts = 4
	hardly    = 50
)

// part is a part of the memory at the highest moment.
type part struct {
	bytes     int64
	text      string // with its bytes
	execution int    // its run of a cell; 0 for none
}

// madeBy names the parts of the highest moment, the most first: lines by their allocations, children, memory from
// before the attach, and cells by the memory that they kept beyond their known lines.
func (m moment) madeBy() string {
	if m.in.cell == nil {
		return m.keptBefore()
	}
	m.v.detail(m.in.cell)
	lines := m.byLines()
	parts := slices.Concat(lines, m.children(), m.unlisted(lines))
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.bytes, a.bytes) })
	var texts []string
	for _, p := range parts[:min(len(parts), mostParts)] {
		if p.bytes >= m.figure().Peak/hardly {
			texts = append(texts, p.text)
		}
	}
	if len(texts) == 0 {
		return "not known: no line that allocated at least " + words.Bytes(worthShowing) + " of it was seen"
	}
	return strings.Join(texts, " · ")
}

// counts reports whether blocks of a meter are in the memory that ranks.
func (m moment) counts(meter string) bool {
	first := m.v.first()
	if !memory(first).has(meter) {
		return false
	}
	return words.OfGPU(first) || first == residentMeter || words.IsOutermost(first) || meter == first
}

// residentMeter returns the meter of present pages; a meter of mapped memory may count a page that was never touched.
const residentMeter = "cpu.resident"

// byLines returns the lines with blocks live at that moment.
func (m moment) byLines() (parts []part) {
	all := slices.DeleteFunc(callersOf(m.in.cell), func(a *caller) bool {
		return a.AtPeak < worthShowing || !m.counts(a.Meter) || words.IsOutermost(a.Meter) && (!a.users || a.ahead)
	})
	there := map[*caller]int64{}
	if m.v.first() == residentMeter {
		there = m.touched(all)
	}
	for _, a := range all {
		bytes, text := a.AtPeak, a.about(words.Bytes(a.AtPeak))
		if most, limited := there[a]; limited {
			bytes, text = most, "up to "+a.about(words.Bytes(most))
		}
		if bytes >= worthShowing {
			parts = append(parts, part{bytes, text + " " + meterName(a.Meter) + " " + a.who, a.of.Execution})
		}
	}
	return parts
}

// children returns the child processes of the cell, if these made the moment.
func (m moment) children() []part {
	cell, meter := m.in.cell, m.v.first()
	if cell.Tree[meter].Peak <= cell.Meters[meter].Peak {
		return nil
	}
	var kinds []string
	of := map[string][]int64{}
	for _, c := range cell.Children {
		if peak := c.Meters[meter].Peak; peak >= worthAGap {
			kind := kindOfChild(m.v.childName(c, cell.PID))
			if of[kind] == nil {
				kinds = append(kinds, kind)
			}
			of[kind] = append(of[kind], peak)
		}
	}
	var parts []part
	for _, kind := range kinds {
		peaks := of[kind]
		sum := int64(0)
		for _, p := range peaks {
			sum += p
		}
		parts = append(parts, part{bytes: sum, text: kind + " " + timesBytes(peaks)})
	}
	return parts
}

// kindOfChild returns the kind of a child, by its name.
func kindOfChild(name string) string {
	switch {
	case strings.Contains(name, "worker"):
		return "workers"
	case strings.HasPrefix(name, "forked"):
		return "forked processes (in part the kernel's own pages)"
	}
	return "child processes"
}

// timesBytes returns "2 × 129.00 MiB" for similar sizes, "120.00 + 64.00 MiB" for few others, "9 with 1.20 GiB
// together" for many.
func timesBytes(sizes []int64) string {
	sum := int64(0)
	for _, n := range sizes {
		sum += n
	}
	most, least := slices.Max(sizes), slices.Min(sizes)
	const alike, few = 20, 3
	switch {
	case most-least <= most/alike:
		return fmt.Sprintf("%d × %s", len(sizes), words.Bytes(sum/int64(len(sizes))))
	case len(sizes) > few:
		return fmt.Sprintf("%d with %s together", len(sizes), words.Bytes(sum))
	}
	slices.SortFunc(sizes, func(a, b int64) int { return cmp.Compare(b, a) })
	var texts []string
	for _, n := range sizes {
		texts = append(texts, words.Bytes(n))
	}
	return strings.Join(texts, " + ")
}

// unlisted returns the memory from before the attach, and for cells the memory that they kept without a known line; for
// the moment's own cell its need: modules, Python's small objects, pages of files.
func (m moment) unlisted(lines []part) (parts []part) {
	if m.v.first() != residentMeter {
		return nil
	}
	known, rest := map[int]int64{}, m.in.cell.Meters[residentMeter].Peak
	for _, p := range lines {
		known[p.execution] += p.bytes
		rest -= p.bytes
	}
	all, kept := m.standing()
	least := max(worthAGap, m.figure().Peak/20)
	if before := kept[0]; before >= least && m.isLate() {
		parts = append(parts, part{bytes: before, text: words.Bytes(before) + " from before the attach"})
		rest -= before
	}
	var cells []part
	for i, s := range all {
		if s.id == 0 {
			continue
		}
		bytes := kept[i+1]
		if s == m.in {
			bytes = s.cell.Meters[residentMeter].Need()
		}
		if bytes -= known[m.v.byID[s.id].execution]; bytes >= least {
			cells = append(cells, part{bytes: bytes, execution: i})
		}
	}
	slices.SortStableFunc(cells, func(a, b part) int { return cmp.Compare(b.bytes, a.bytes) })
	for _, p := range cells {
		if p.bytes = min(p.bytes, rest); p.bytes < least {
			break
		}
		rest -= p.bytes
		s := all[p.execution]
		parts = append(parts, part{bytes: p.bytes, text: words.Bytes(p.bytes) + " resident " + s.label + m.heaviest(s)})
	}
	return parts
}

// isLate reports whether the process began before the session.
func (m moment) isLate() bool {
	return slices.ContainsFunc(m.v.r.Processes, func(p model.Process) bool { return p.PID == m.in.pid && p.Late })
}

// standing returns the cells and times of the process up to the moment's cell, in order, and the part of each that was
// still there when the moment's cell began. First comes the memory from before all of them. The part of each is the
// rise below which memory never fell again.
func (m moment) standing() (all []*stretch, kept []int64) {
	for i := range m.v.ranked {
		if s := &m.v.ranked[i]; s.pid == m.in.pid && s.start <= m.in.start {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *stretch) int { return cmp.Compare(a.start, b.start) })
	kept = make([]int64, len(all)+1)
	low := m.in.from
	for i, s := range slices.Backward(all) {
		next := low
		low = min(low, s.from)
		kept[i+1] = next - low
	}
	kept[0] = low
	return all, kept
}

// heaviest returns " line 2", the line of a cell that kept the most, or needed most in the moment's own; "" if that is
// not most of the cell's.
func (m moment) heaviest(s *stretch) string {
	of := model.Figure.Need
	if s != m.in {
		of = func(f model.Figure) int64 { return f.Consumed }
	}
	best, all := model.Window{}, m.v.statementsOf(map[int]bool{s.id: true})[s.id]
	for _, w := range all {
		if of(w.Meters[residentMeter]) > of(best.Meters[residentMeter]) {
			best = w
		}
	}
	if whole := of(m.v.fetch(s.id).Meters[residentMeter]); best.Line == 0 || 2*of(best.Meters[residentMeter]) < whole {
		return ""
	}
	return fmt.Sprintf(" line %d", best.Line)
}

// keptBefore names the cells that kept the most before a time between cells, if that time is the highest moment.
func (m moment) keptBefore() string {
	meter := m.v.meters[0]
	var kept []*stretch
	for i := range m.v.ranked {
		if s := &m.v.ranked[i]; s.id > 0 && s.pid == m.at.pid && s.start <= m.at.start && s.kept >= worthAGap {
			kept = append(kept, s)
		}
	}
	slices.SortStableFunc(kept, func(a, b *stretch) int { return cmp.Compare(b.kept, a.kept) })
	text := "no cell: it rose by " + need.show(m.at.figures, meter).text + " while none ran"
	var parts []string
	for _, s := range kept[:min(len(kept), 3)] {
		parts = append(parts, s.label+" "+consumed.show(m.v.fetch(s.id).Meters, meter).text)
	}
	if len(parts) > 0 {
		text += "; before it the most was kept by " + strings.Join(parts, ", ")
	}
	return text
}

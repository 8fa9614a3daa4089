package text

import (
	"cmp"
	"fmt"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Accounts returns how the memory divides at the highest moment and after the last cell. Where no cell ran, it returns
// how the memory of the living processes divides at the end.
func Accounts(r *model.Report) (all []model.Account) {
	v, err := newView(r, Options{})
	if err != nil {
		return nil
	}
	if !(headlineView{v}).leads() {
		for _, o := range (headlineView{v}).idle() {
			all = append(all, *o.account())
		}
		return all
	}
	top := highestMoment(v)
	return []model.Account{*top.account(), *leftoverOf(v, top.in.pid).account()}
}

// account divides the memory at the highest moment. First comes the kernel's own memory with a certain origin, then its
// children, then what cells made resident without a known block.
func (m moment) account() *model.Account {
	a := &model.Account{PID: m.in.pid, Meter: m.v.first(), At: model.AtHighest, Bytes: m.figure().Peak,
		Parts: []model.AccountPart{}}
	children, own := m.children()
	kernel := model.Account{Bytes: min(own, a.Bytes)}
	m.divide(&kernel)
	for _, p := range slices.Concat(kernel.Parts, children) {
		a.Take(p)
	}
	slices.SortStableFunc(a.Parts, func(a, b model.AccountPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	a.Take(model.AccountPart{Kind: model.PartRest, Bytes: a.Bytes})
	return a
}

// divide divides the kernel's own memory.
func (m moment) divide(kernel *model.Account) {
	lines := m.byLines()
	known := map[int]int64{} // bytes of lines, by the run of their cell
	take := func(upTo bool) {
		for _, l := range lines {
			if l.UpTo != upTo {
				continue
			}
			if l.Bytes > kernel.Left() {
				l.UpTo = true
			}
			known[l.Execution] += kernel.Take(l)
		}
	}
	take(false)
	if m.v.first() != residentMeter {
		take(true)
		m.beyondLines(kernel)
		return
	}
	all, kept := m.standing()
	kernel.Take(model.AccountPart{Kind: model.PartBefore, Bytes: kept[0]})
	take(true)
	m.divideAmong(kernel, all, kept[1:], known)
}

// beyondLines takes in the known parts of a meter's memory that are in no listed line: lines with little memory each
// and, on a GPU, what PyTorch's allocator kept for coming tensors.
func (m moment) beyondLines(kernel *model.Account) {
	if m.in.cell == nil {
		return
	}
	first := m.v.first()
	kernel.Take(model.AccountPart{Kind: model.PartLines, Bytes: m.in.cell.Coverage[first].UnlistedAtPeak})
	device := memory(first).device()
	if reserved := m.at.figures[device+"reserved"]; device != "" && first != device+"active" && reserved.Exact {
		lines := kernel.Bytes - kernel.Left()
		kernel.Take(model.AccountPart{Kind: model.PartWhere, Who: words.TorchCache, Bytes: reserved.Peak - lines,
			UpTo: true})
	}
}

// divideAmong gives the rest to the cells and the times that kept it, largest first. known is what their lines have.
func (m moment) divideAmong(kernel *model.Account, all []*stretch, kept []int64, known map[int]int64) {
	type share struct {
		of    *stretch
		bytes int64
	}
	var shares []share
	for i, s := range all {
		bytes := kept[i]
		if s == m.at {
			bytes = s.top - s.from
		}
		if s.id > 0 {
			bytes -= known[m.v.byID[s.id].execution]
		}
		shares = append(shares, share{s, bytes})
	}
	slices.SortStableFunc(shares, func(a, b share) int { return cmp.Compare(b.bytes, a.bytes) })
	least, others := max(WorthShowing, kernel.Bytes/1000), int64(0)
	for _, one := range shares {
		if one.bytes < least {
			others += max(0, one.bytes)
			continue
		}
		p := model.AccountPart{Kind: model.PartCell, Bytes: one.bytes, Who: one.of.label}
		if one.of.id > 0 {
			p.Execution, p.ExecutionCount = m.v.byID[one.of.id].execution, m.v.fetch(one.of.id).ExecutionCount
			p.Who += m.heaviest(one.of)
		}
		kernel.Take(p)
	}
	kernel.Take(model.AccountPart{Kind: model.PartCells, Bytes: others})
}

// byLines returns the lines with blocks live at that moment, the largest first.
func (m moment) byLines() (lines []model.AccountPart) {
	all := slices.DeleteFunc(callersOf(m.blocks()), func(a *caller) bool {
		return a.AtPeak < WorthShowing || !m.counts(a.Meter) || words.IsOutermost(a.Meter) && (!a.users || a.ahead)
	})
	there := map[*caller]int64{}
	if m.v.first() == residentMeter {
		there = m.touched(all)
	}
	for _, a := range all {
		p := model.AccountPart{Kind: model.PartLine, Bytes: a.AtPeak, Meter: a.Meter, Who: a.who, Sampled: a.Sampled,
			Execution: a.of.Execution, ExecutionCount: a.of.ExecutionCount}
		if most, limited := there[a]; limited {
			p.Bytes, p.UpTo = most, true
		}
		lines = append(lines, p)
	}
	slices.SortStableFunc(lines, func(a, b model.AccountPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return lines
}

// blocks returns the allocations of the blocks that lived at that moment. If these are not known, it returns those of
// the blocks that lived when their meters were highest in the cell.
func (m moment) blocks() *model.Window {
	for _, p := range m.summit() {
		if p.PID == m.in.pid && p.Allocations != nil {
			return &model.Window{Allocations: p.Allocations}
		}
	}
	if m.in.cell == nil {
		return &model.Window{}
	}
	m.v.detail(m.in.cell)
	return m.in.cell
}

// children returns the other processes by kind, and the bytes that the kernel itself had.
func (m moment) children() (parts []model.AccountPart, own int64) {
	whole := m.figure().Peak
	if own = min(m.at.top, whole); whole == own {
		return nil, own
	}
	sum, index := int64(0), map[string]int{}
	add := func(pid int, bytes int64, name string) {
		sum += bytes
		kind := words.ProcessKind(name)
		i, known := index[kind]
		if !known {
			i = len(parts)
			index[kind] = i
			parts = append(parts, model.AccountPart{Kind: model.PartChildren, Who: kind})
		}
		one := &parts[i]
		one.Bytes += bytes
		one.PIDs, one.Sizes = append(one.PIDs, pid), append(one.Sizes, bytes)
	}
	at := m.summit()
	for _, p := range at {
		if p.PID == m.in.pid {
			own = p.Bytes
		} else {
			add(p.PID, p.Bytes, m.v.processName(p.PID, m.in.pid))
		}
	}
	if at == nil && m.at.cell != nil { // all that is known is how high each was in the cell
		for _, c := range m.at.cell.Children {
			if peak := c.OwnMeters()[m.v.first()].Peak; peak >= WorthShowing {
				add(c.PID, peak, childName(m.v.r, m.in.pid, c.Command))
			}
		}
	}
	for i := range parts {
		parts[i].UpTo = own+sum > whole
	}
	return parts, own
}

// summit returns what each process had at the highest moment; nil if that is not known.
func (m moment) summit() []model.SummitProcess {
	for _, s := range m.v.r.Summits {
		if s.Meter == m.v.first() && s.Bytes == m.figure().Peak &&
			slices.ContainsFunc(s.Processes, func(p model.SummitProcess) bool { return p.PID == m.in.pid }) {
			return s.Processes
		}
	}
	return nil
}

// standing returns the cells and times of the process up to the highest moment, in order. kept is the part of each that
// was still there when the last one began: the rise below which memory never fell again. The first item of kept is the
// memory from before all cells.
func (m moment) standing() (all []*stretch, kept []int64) {
	for i := range m.v.ranked {
		if s := &m.v.ranked[i]; s.pid == m.at.pid && s.start <= m.at.start {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *stretch) int { return cmp.Compare(a.start, b.start) })
	kept = make([]int64, len(all)+1)
	low := m.at.from
	for i, s := range slices.Backward(all) {
		next := low
		low = min(low, s.from)
		kept[i+1] = next - low
	}
	kept[0] = low
	return all, kept
}

// mostParts is the largest number of named parts of the highest moment.
const mostParts = 4

// madeBy names the parts of the highest moment, the largest first. The other parts follow as one sum, so the shown
// parts add up to the figure.
func (m moment) madeBy() string {
	if text := words.Account(m.account(), mostParts, isLate(m.v.r, m.in.pid)); text != "" {
		return text
	}
	return "not known: no line that allocated at least " + words.Bytes(WorthShowing) + " of it was seen"
}

// counts reports whether blocks of a meter are in the memory that ranks.
func (m moment) counts(meter string) bool {
	first := m.v.first()
	if !memory(first).has(meter) {
		return false
	}
	return words.OfGPU(first) || first == residentMeter || words.IsOutermost(first) || meter == first
}

// heaviest returns the heaviest line of a cell, such as " line 2": in the cell of the highest moment the line that
// needed most, in other cells the line that kept most. It returns "" if that is less than half of the cell's.
func (m moment) heaviest(s *stretch) string {
	of := model.Figure.Need
	if s != m.at {
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

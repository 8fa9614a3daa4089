package text

import (
	"cmp"
	"fmt"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Accounts returns how the memory divides at the highest moment and after the last cell. Where no cell ran, it returns
// how the memory of the living processes divides at the end.
func Accounts(r *model.Report) (accounts []model.Account) {
	v, err := newView(r, Options{})
	if err != nil {
		return nil
	}
	headline := headlineView{v}
	if !headline.hasHighest() {
		for _, o := range headline.withoutCells() {
			accounts = append(accounts, *o.account())
		}
		return accounts
	}
	highest := highestMoment(v)
	return []model.Account{*highest.account(), *leftoverOf(v, highest.in.pid).account()}
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

// divide divides the kernel's own memory. Certain parts come first: a part takes no more than the earlier ones left.
func (m moment) divide(kernel *model.Account) {
	lines := m.byLines()
	known := map[int]int64{} // bytes of lines, by the run of their cell
	takeLines := func(certain bool) {
		for _, l := range lines {
			if isMap := words.IsOutermost(l.Meter) && m.v.first() == residentMeter; certain == (isMap || l.Sampled) {
				continue
			}
			l.UpTo = l.Bytes > kernel.Left() && !l.Sampled
			known[l.Execution] += kernel.Take(l)
		}
	}
	takeLines(true)
	if m.v.first() != residentMeter {
		takeLines(false)
		m.beyondLines(kernel)
		return
	}
	stretches, before, kept := m.standing()
	kernel.Take(model.AccountPart{Kind: model.PartBefore, Bytes: before})
	takeLines(false)
	m.divideAmong(kernel, stretches, kept, known)
}

// beyondLines adds the known parts of a meter's memory that are in no listed line: the sum of lines with little memory
// each and, on a GPU, what PyTorch's allocator kept for coming tensors.
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

// divideAmong gives what lines did not take to the stretches that kept it, the largest share first. kept has the bytes
// of each stretch; known has the bytes that lines already took, by the run of their cell.
func (m moment) divideAmong(kernel *model.Account, stretches []*stretch, kept []int64, known map[int]int64) {
	type share struct {
		of    *stretch
		bytes int64
	}
	var shares []share
	for i, s := range stretches {
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
	least, folded := max(WorthShowing, kernel.Bytes/1000), int64(0)
	for _, s := range shares {
		if s.bytes < least {
			folded += max(0, s.bytes)
			continue
		}
		p := model.AccountPart{Kind: model.PartCell, Bytes: s.bytes, Who: s.of.label}
		if s.of.id > 0 {
			p.Execution, p.ExecutionCount = m.v.byID[s.of.id].execution, m.v.fetch(s.of.id).ExecutionCount
			p.Who += m.heaviest(s.of)
		}
		kernel.Take(p)
	}
	kernel.Take(model.AccountPart{Kind: model.PartCells, Bytes: folded})
}

// byLines returns the lines that made memory which was there at that moment, the largest first.
func (m moment) byLines() (lines []model.AccountPart) {
	callers := callersOf(m.blocks())
	if m.v.first() == residentMeter {
		callers = touched(callers)
	}
	for _, c := range callers {
		isLibraryMap := words.IsOutermost(c.Meter) && (!c.users || c.ahead)
		if c.AtPeak < WorthShowing || !m.counts(c.Meter) || isLibraryMap {
			continue
		}
		lines = append(lines, model.AccountPart{Kind: model.PartLine, Bytes: c.AtPeak, Meter: c.Meter, Who: c.who,
			Sampled: c.Sampled, Execution: c.of.Execution, ExecutionCount: c.of.ExecutionCount})
	}
	slices.SortStableFunc(lines, func(a, b model.AccountPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return lines
}

// blocks returns a window with the allocations of the blocks that lived at that moment. If the report does not have
// them, it returns the cell: its allocations are of the blocks that lived when their own meters were highest.
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

// children returns a part for each kind of the other processes, and the bytes that the kernel itself had.
func (m moment) children() (parts []model.AccountPart, own int64) {
	whole := m.figure().Peak
	if own = min(m.at.top, whole); whole == own {
		return nil, own
	}
	ofChildren, index := int64(0), map[string]int{} // index: the place of a kind in parts
	add := func(pid int, bytes int64, name string) {
		ofChildren += bytes
		kind := words.ProcessKind(name)
		i, known := index[kind]
		if !known {
			i = len(parts)
			index[kind] = i
			parts = append(parts, model.AccountPart{Kind: model.PartChildren, Who: kind})
		}
		part := &parts[i]
		part.Bytes += bytes
		part.PIDs, part.Sizes = append(part.PIDs, pid), append(part.Sizes, bytes)
	}
	processes := m.summit()
	for _, p := range processes {
		if p.PID == m.in.pid {
			own = p.Bytes
		} else {
			add(p.PID, p.Bytes, m.v.processName(p.PID, m.in.pid))
		}
	}
	if processes == nil && m.at.cell != nil { // all that is known is how high each was in the cell
		for _, c := range m.at.cell.Children {
			if peak := c.OwnMeters()[m.v.first()].Peak; peak >= WorthShowing {
				add(c.PID, peak, childName(m.v.r, m.in.pid, c.Command))
			}
		}
	}
	for i := range parts {
		parts[i].UpTo = own+ofChildren > whole
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

// standing returns the process's stretches up to the highest moment, the earliest first. kept has, for each of them,
// the bytes of its rise that were still there when the last stretch began: memory never fell below them since. before
// is the memory from before all stretches.
func (m moment) standing() (stretches []*stretch, before int64, kept []int64) {
	for i := range m.v.ranked {
		if s := &m.v.ranked[i]; s.pid == m.at.pid && s.start <= m.at.start {
			stretches = append(stretches, s)
		}
	}
	slices.SortStableFunc(stretches, func(a, b *stretch) int { return cmp.Compare(a.start, b.start) })
	kept = make([]int64, len(stretches))
	low := m.at.from // the lowest value from the end of a stretch on
	for i, s := range slices.Backward(stretches) {
		lowAfter := low
		low = min(low, s.from)
		kept[i] = lowAfter - low
	}
	return stretches, low, kept
}

// mostParts is the largest number of named parts of the highest moment.
const mostParts = 4

// madeBy names the parts of the highest moment, the largest first. The other parts follow as one sum, so the shown
// parts add up to the figure. Further forms name fewer.
func (m moment) madeBy() (forms []doc.Form) {
	account := m.account()
	for most := mostParts; most > 0; most-- {
		if text := words.Account(account, most, isLate(m.v.r, m.in.pid)); text != "" {
			forms = append(forms, doc.Form{Text: text})
		}
	}
	if len(forms) == 0 {
		return []doc.Form{
			{Text: "not known: no line that allocated at least " + words.Bytes(WorthShowing) + " of it was seen"},
		}
	}
	return forms
}

// counts reports whether the ranking memory includes the blocks of a meter.
func (m moment) counts(meter string) bool {
	first := m.v.first()
	if !memory(first).includes(meter) {
		return false
	}
	return words.OfGPU(first) || first == residentMeter || words.IsOutermost(first) || meter == first
}

// heaviest returns the heaviest line of a cell, such as " line 2": in the cell of the highest moment the line that
// needed most, in other cells the line that kept most. It returns "" if that is less than half of the cell's.
func (m moment) heaviest(s *stretch) string {
	quantity := model.Figure.Need
	if s != m.at {
		quantity = func(f model.Figure) int64 { return f.Consumed }
	}
	line, most := 0, int64(0)
	for _, w := range m.v.statementsOf(map[int]bool{s.id: true})[s.id] {
		if bytes := quantity(w.Meters[residentMeter]); bytes > most {
			line, most = w.Line, bytes
		}
	}
	whole := quantity(m.v.fetch(s.id).Meters[residentMeter])
	if line == 0 || 2*most < whole {
		return ""
	}
	return fmt.Sprintf(" line %d", line)
}

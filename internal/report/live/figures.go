package live

import (
	"fmt"
	"ipytracer/internal/report/doc"
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

const resident = "cpu.resident"

// Widths, in cells.
const (
	nameCells = 10 // of a bar's name
	maxDevice = 40 // of a GPU's name
)

// figures shows a bar for each meter with a limit, and for resident memory: the nearest to its limit first. The other
// meters follow in a line.
func (p *page) figures(glance *model.Glance, kernel *model.Kernel) {
	figures := kernel.Figures()
	limited := "" // the meter of the CPU that has a bar
	near := kernel.Nearest(glance.GPUs)
	if !slices.ContainsFunc(near, func(n model.Nearness) bool { return n.Meter == resident }) {
		own := model.Nearness{Level: model.Level{Meter: resident}}
		at := slices.IndexFunc(near, func(n model.Nearness) bool { return n.Share() == 0 })
		if at < 0 {
			at = len(near)
		}
		near = slices.Insert(near, at, own)
	}
	for i := range near {
		nearness := &near[i]
		limitName := ""
		switch {
		case words.OfGPU(nearness.Meter):
			limitName = nameOf(glance, nearness.Meter)
		case nearness.Bytes > 0:
			limited = nearness.Meter
			limitName = doc.LimitName(model.Limit{Kind: nearness.Kind, Path: nearness.Path})
		}
		if figure, ok := figures[nearness.Meter]; ok {
			name := words.Meter(strings.TrimSuffix(nearness.Meter, ".driver"))
			p.bar(name, figure, nearness.Bytes, limitName)
		}
	}
	p.others(kernel, figures, limited)
}

// gpuNumber returns the N of a meter gpu.N.…; -1 for another meter.
func gpuNumber(id string) int {
	rest, ok := strings.CutPrefix(id, "gpu.")
	digits, _, _ := strings.Cut(rest, ".")
	number, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return -1
	}
	return number
}

// usesGPU reports whether a process has used a GPU.
func usesGPU(kernel *model.Kernel) bool {
	for id := range kernel.Meters {
		if isDriver(id) {
			return true
		}
	}
	return false
}

// isDriver reports whether a meter counts a GPU's memory from the driver.
func isDriver(id string) bool { return words.OfGPU(id) && strings.HasSuffix(id, ".driver") }

// nameOf returns the name of a meter's GPU; "" if it is not known.
func nameOf(glance *model.Glance, id string) string {
	for _, gpu := range glance.GPUs {
		if gpu.Index == gpuNumber(id) {
			return escape.Bounded(gpu.Name, maxDevice)
		}
	}
	return ""
}

// bar shows one meter: its present and its highest value, in bytes. With a limit above 0 it draws a gauge as well.
func (p *page) bar(name string, figure model.Figure, limit int64, limitName string) {
	now := words.Total.Text(&figure)
	if limit > 0 {
		now += " of " + words.Bytes(limit)
	}
	tail := ", highest " + words.Highest.Text(&figure)
	if limitName != "" {
		tail += " · " + limitName
	}
	spans := []Span{{escape.Pad(escape.Bounded(name, nameCells), nameCells, false), Plain}}
	if limit > 0 {
		cells := 20
		if p.width > 0 {
			const brackets = 3 // cells around the gauge
			cells = min(40, max(8, p.width-nameCells-len(now)-escape.Cells(tail)-brackets))
		}
		spans = append(spans, gauge(figure, limit, cells)...)
	}
	p.add(append(spans, Span{now, Bold}, Span{tail, Plain})...)
}

// gauge draws the present and the highest value as shares of a limit, which is as wide as cells.
func gauge(figure model.Figure, limit int64, cells int) []Span {
	filled := func(bytes int64) int { // rounded
		return int(min(float64(cells), max(0, float64(bytes)/float64(limit)*float64(cells))+0.5))
	}
	now, peak := filled(figure.End), filled(figure.Peak)
	style := Good
	switch share := float64(figure.End) / float64(limit); {
	case share >= 0.9:
		style = Bad
	case share >= 0.75:
		style = Warn
	}
	return []Span{
		{"[", Plain}, {strings.Repeat("█", now), style}, {strings.Repeat("▒", max(0, peak-now)), Dim},
		{strings.Repeat("░", cells-max(now, peak)), Dim}, {"] ", Plain},
	}
}

// others shows the meters without a bar, and the children, in one line. limited is the meter of the CPU with a bar.
func (p *page) others(kernel *model.Kernel, figures map[string]model.Figure, limited string) {
	var parts []string
	report := model.Report{Windows: []model.Window{{Meters: figures}}}
	for _, id := range report.AllMeters() {
		figure := figures[id]
		hasBar := id == resident || id == limited || strings.HasSuffix(id, ".driver")
		isUnused := figure.Exact && figure.Peak == 0
		if hasBar || isUnused || words.IsPart(id) {
			continue
		}
		parts = append(parts, words.Meter(id)+" "+words.Total.Text(&figure))
	}
	if count := len(kernel.Children) + kernel.ChildrenUnlisted; count > 0 {
		sum := int64(0)
		for _, c := range kernel.Children {
			sum += c.Meters[resident].End
		}
		parts = append(parts, children(count)+" "+words.Bytes(sum))
	}
	if len(parts) > 0 && !p.low {
		p.add(Span{escape.Pad("", nameCells, false) + strings.Join(parts, " · "), Plain})
	}
}

// children returns "1 child", or "3 children".
func children(count int) string {
	if count == 1 {
		return "1 child"
	}
	return strconv.Itoa(count) + " children"
}

// lacks shows the losses so far and the paused probes, or how much of the cell's peak is explained. A low screen has a
// line for one of these: losses first, then pauses.
func (p *page) lacks(glance *model.Glance, kernel *model.Kernel) {
	l := &glance.Lacks
	switch count := len(l.Reasons); {
	case count == 0 && p.low && len(l.SteppedDown) > 0:
		// the line is for the paused probes
	case count == 0:
		p.add(Span{"nothing is known to be lost", Dim}, Span{fmt.Sprintf(" · %s changes", words.Count(l.Made)), Dim},
			Span{explained(kernel), Dim})
	case count == 1 || p.width > 0:
		more := ""
		if count > 1 {
			more = fmt.Sprintf(" (and %d more)", count-1)
		}
		p.add(Span{"! ", Warn}, Span{l.Reasons[0] + more, Warn})
	default:
		for _, r := range l.Reasons {
			p.add(Span{"! ", Warn}, Span{r, Warn})
		}
	}
	if len(l.SteppedDown) > 0 && (!p.low || len(l.Reasons) == 0) {
		p.add(Span{"! ", Warn}, Span{"stepped down to keep the budget: " + strings.Join(l.SteppedDown, ", "), Warn})
	}
}

// slower shows avoidable costs to the target, but not on a low screen.
func (p *page) slower(glance *model.Glance) {
	for _, text := range glance.Slower[:min(len(glance.Slower), maxSlower)] {
		if !p.low {
			p.add(Span{"! slower: ", Warn}, Span{escape.OneLine(text, false, maxSlowerText), Warn})
		}
	}
}

// own shows the tracer's own memory, and how much is left below its limit. A low screen shows it only if less than an
// eighth is left.
func (p *page) own(glance *model.Glance) {
	o := glance.Own
	if o == nil {
		return
	}
	style := Dim
	line := escape.Pad("tracer", nameCells, false) + words.Bytes(o.Resident) + " itself, " +
		words.Bytes(o.Kernel) + " in Linux"
	if o.Limit > 0 {
		line += " · " + words.Bytes(o.Left) + " left of " + words.Bytes(o.Limit) + ": " +
			escape.OneLine(o.LimitBy, false, maxLimitText)
		if o.Left < o.Limit/8 {
			style = Warn
		}
	}
	if !p.low || style == Warn {
		p.add(Span{line, style})
	}
}

// maxLimitText is the most cells of a limit's name: control groups have long names.
const maxLimitText = 300

// Bounds of the costs to the target.
const (
	maxSlower     = 3   // lines
	maxSlowerText = 600 // cells of a line
)

// explained says how much of the cell's peak of mapped memory the lines account for; "" if that is not known.
func explained(kernel *model.Kernel) string {
	var peak, rest int64
	for id, c := range kernel.Coverage {
		if words.IsOutermost(id) {
			peak += c.AtPeak
			rest += max(0, c.Rest)
		}
	}
	if peak+rest == 0 {
		return ""
	}
	return fmt.Sprintf(" · lines explain %s of %s at the peak", words.Bytes(peak), words.Bytes(peak+rest))
}

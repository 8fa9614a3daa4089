package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

const (
	resident  = "cpu.resident"
	nameCells = 10 // of a bar's name
	maxDevice = 40 // of a GPU's
)

// figures shows the meters of the process, against their limits if there are any: the nearest to its limit first.
func (p *page) figures(glance *model.Glance, kernel *model.Kernel) {
	all := kernel.Figures()
	limited := ""
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
		of := ""
		switch {
		case words.OfGPU(nearness.Meter):
			of = nameOf(glance, nearness.Meter)
		case nearness.Bytes > 0:
			limited, of = nearness.Meter, text.LimitName(model.Limit{Kind: nearness.Kind, Path: nearness.Path})
		}
		p.bar(words.Meter(strings.TrimSuffix(nearness.Meter, ".driver")), all, nearness.Meter, nearness.Bytes, of)
	}
	p.others(kernel, all, limited)
}

// gpuNumber returns N of gpu.N.…, -1 for another meter.
func gpuNumber(id string) int {
	rest, ok := strings.CutPrefix(id, "gpu.")
	number, _, _ := strings.Cut(rest, ".")
	width, err := strconv.Atoi(number)
	if !ok || err != nil {
		return -1
	}
	return width
}

// nameOf returns the name of a meter's GPU, "" if it is not known.
func nameOf(glance *model.Glance, id string) string {
	for _, one := range glance.GPUs {
		if one.Index == gpuNumber(id) {
			return escape.Bounded(one.Name, maxDevice)
		}
	}
	return ""
}

// bar shows one meter: its value, its highest value, and the limit, always in bytes.
func (p *page) bar(name string, all map[string]model.Figure, id string, limit int64, of string) {
	figure, ok := all[id]
	if !ok {
		return
	}
	figures := words.Total.At(all, id)
	if limit > 0 {
		figures += " of " + words.Bytes(limit)
	}
	tail := ", highest " + words.Highest.At(all, id)
	if of != "" {
		tail += " · " + of
	}
	spans := []Span{{escape.Pad(escape.Bounded(name, nameCells), nameCells, false), Plain}}
	if limit > 0 {
		cells := 20
		if p.width > 0 {
			cells = min(40, max(8, p.width-nameCells-len(figures)-escape.Cells(tail)-3))
		}
		spans = append(spans, gauge(figure, limit, cells)...)
	}
	p.add(append(spans, Span{figures, Bold}, Span{tail, Plain})...)
}

// gauge draws a share of a limit: the present value, and the highest.
func gauge(figure model.Figure, limit int64, cells int) []Span {
	part := func(bytes int64) int {
		return int(min(float64(cells), max(0, float64(bytes)/float64(limit)*float64(cells))+0.5))
	}
	now, peak := part(figure.End), part(figure.Peak)
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

// others shows the meters without a bar, and the children, in a word.
func (p *page) others(kernel *model.Kernel, all map[string]model.Figure, barred string) {
	var parts []string
	report := model.Report{Windows: []model.Window{{Meters: all}}}
	for _, id := range report.AllMeters() {
		figure := all[id]
		if id == resident || id == barred || strings.HasSuffix(id, ".driver") || words.IsPart(id) ||
			figure.Exact && figure.Peak == 0 {
			continue
		}
		parts = append(parts, words.Meter(id)+" "+words.Total.At(all, id))
	}
	if width := len(kernel.Children) + kernel.ChildrenUnlisted; width > 0 {
		sum := int64(0)
		for _, c := range kernel.Children {
			sum += c.Meters[resident].End
		}
		parts = append(parts, children(width)+" "+words.Bytes(sum))
	}
	if len(parts) > 0 && !p.low {
		p.add(Span{escape.Pad("", nameCells, false) + strings.Join(parts, " · "), Plain})
	}
}

func children(width int) string {
	if width == 1 {
		return "1 child"
	}
	return strconv.Itoa(width) + " children"
}

// lacks shows the losses so far, and the explained part of the cell's peak.
func (p *page) lacks(glance *model.Glance, kernel *model.Kernel) {
	l := &glance.Lacks
	switch width := len(l.Reasons); {
	case width == 0:
		if p.low && len(l.SteppedDown) > 0 {
			break
		}
		p.add(Span{"nothing is known to be lost", Dim}, Span{fmt.Sprintf(" · %s changes", words.Count(l.Made)), Dim},
			Span{explained(kernel), Dim})
	case width == 1 || p.width > 0:
		more := ""
		if width > 1 {
			more = fmt.Sprintf(" (and %d more)", width-1)
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

// slower shows avoidable costs to the target. On a low screen there is no room for it.
func (p *page) slower(glance *model.Glance) {
	for _, text := range glance.Slower[:min(len(glance.Slower), maxSlower)] {
		if !p.low {
			p.add(Span{"! slower: ", Warn}, Span{escape.OneLine(text, false, maxSlowerText), Warn})
		}
	}
}

// own shows the tracer's own memory, and the rest of its limit. On a low screen it is shown only if little is left.
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

// maxLimitText is the shown length of a limit's name, in cells: control groups have long ones.
const maxLimitText = 300

// Bounds of the costs to the target: lines, and cells of one.
const (
	maxSlower     = 3
	maxSlowerText = 600
)

// explained says how much of the cell's peaks the table accounts for.
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

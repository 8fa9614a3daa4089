package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// column is a column of a table.
type column struct {
	title string
	cells int // its width; 0 is the rest of the line
	right bool
	drop  int  // if the width is too small, the column with the highest drop is left out first; 0 is never left out
	ofGPU bool // shown only if a GPU is used
}

var columns = [tabs][]column{
	Lines: {
		{title: "grew", cells: 11, right: true}, {title: "at peak", cells: 11, right: true, drop: 1},
		{title: "allocated", cells: 11, right: true, drop: 2},
		{title: "times", cells: 7, right: true, drop: 3}, {title: "meter", cells: 12, drop: 0}, {title: "who"},
	},
	Variables: {
		{title: "alone", cells: 11, right: true}, {title: "reaches", cells: 11, right: true, drop: 2},
		{title: "name", cells: 18}, {title: "type", cells: 12, drop: 1},
		{title: "shape", cells: 16, drop: 3}, {title: "made by"},
	},
	Children: {
		{title: "resident", cells: 11, right: true}, {title: "highest", cells: 11, right: true, drop: 1},
		{title: "pid", cells: 8, right: true}, {title: "command"},
	},
	Cells: {
		{title: "cell", cells: 8}, {title: "need", cells: 11, right: true},
		{title: "gpu need", cells: 11, right: true, ofGPU: true}, {title: "kept", cells: 11, right: true, drop: 1},
		{title: "highest", cells: 11, right: true, drop: 3}, {title: "time", cells: 10, right: true, drop: 2},
		{title: "source"},
	},
}

// line is one row of a table: its cells, and its sort keys by column.
type line struct {
	cells []string
	keys  []sortKey
}

// sortKey is what a column sorts by: a number, the largest first, or a text.
type sortKey struct {
	number int64
	text   string
}

// tableFrame is the number of a table's rows beside its lines: names of the tables, titles, and items without a row.
const tableFrame = 3

// table shows the table of the chosen tab in at most height rows.
func (p *page) table(kernel *model.Kernel, height int) {
	lines := p.rowsOf(kernel)
	tab, by := p.state.Tab, p.state.Sort[p.state.Tab]
	slices.SortStableFunc(lines, func(x, y line) int {
		return cmp.Or(cmp.Compare(y.keys[by].number, x.keys[by].number), cmp.Compare(x.keys[by].text, y.keys[by].text))
	})
	p.add(p.tabLine(kernel)...)
	columns := columns[tab]
	if p.whole {
		columns = widened(columns, lines)
	}
	shown := p.fitting(columns, usesGPU(kernel))
	p.header(columns, shown, by)
	if len(lines) == 0 {
		p.add(Span{p.empty(kernel), Dim})
		return
	}
	last := p.after(kernel)
	for _, l := range p.visible(lines, height-2, last != "") {
		var spans []Span
		for i, c := range columns {
			if shown[i] {
				spans = append(spans, Span{p.pad(l.cells[i], c), styleOf(tab, i)})
			}
		}
		p.add(spans...)
	}
	if last != "" {
		p.add(Span{last, Dim})
	}
}

// header adds the titles of the shown columns, with a mark on the one that sorts the table.
func (p *page) header(columns []column, shown []bool, by int) {
	var spans []Span
	for i, c := range columns {
		if !shown[i] {
			continue
		}
		title, style := strings.ToUpper(c.title), Dim
		if i == by {
			title, style = title+"▼", Bold
		}
		spans = append(spans, Span{p.pad(title, c), style})
	}
	p.add(spans...)
}

// visible returns the lines that fit into room rows, from the offset on. It lowers an offset beyond the last page. With
// hasLast, a row is left for the number of items without a row.
func (p *page) visible(lines []line, room int, hasLast bool) []line {
	p.state.Offset = max(0, min(p.state.Offset, len(lines)-room))
	lines = lines[p.state.Offset:]
	if hasLast && len(lines) > room-1 {
		room--
	}
	return lines[:min(len(lines), max(0, room))]
}

// styleOf returns the style of a column's cells: the first matters most, those that can be left out matter least.
func styleOf(tab Tab, i int) Style {
	if i == 0 {
		return Bold
	}
	if columns[tab][i].drop > 0 {
		return Dim
	}
	return Plain
}

// pad returns a text as wide as its column, with a gap behind it.
func (p *page) pad(text string, c column) string {
	if c.cells == 0 {
		return text
	}
	if text = escape.Text(text); p.state.ASCII {
		text = ascii(text)
	}
	return escape.Pad(escape.Cut(text, c.cells), c.cells, c.right) + "  "
}

// fitting reports for each column whether there is room for it. It leaves out columns until the last one, which has no
// width of its own, has 28 cells.
func (p *page) fitting(columns []column, gpu bool) []bool {
	const leastOfLast, gap = 28, 2
	shown := make([]bool, len(columns))
	used := leastOfLast
	for i, c := range columns {
		shown[i] = gpu || !c.ofGPU
		if shown[i] && c.cells > 0 {
			used += c.cells + gap
		}
	}
	for p.width > 0 && used > p.width {
		next, highest := -1, 0
		for i, c := range columns {
			if shown[i] && c.drop > highest {
				next, highest = i, c.drop
			}
		}
		if next < 0 {
			break
		}
		shown[next] = false
		used -= columns[next].cells + gap
	}
	return shown
}

// tabLine returns the names of the tables, and what the shown table is about.
func (p *page) tabLine(kernel *model.Kernel) (spans []Span) {
	for i, name := range []string{"1 lines", "2 variables", "3 children", "4 cells"} {
		style := Dim
		if Tab(i) == p.state.Tab {
			style = Reverse
		}
		if p.width == 0 && Tab(i) != p.state.Tab {
			continue
		}
		spans = append(spans, Span{" " + name + " ", style}, Span{" ", Plain})
	}
	about := ""
	switch p.state.Tab {
	case Lines:
		about = map[string]string{"cell": "since the cell began", "mark": "since the mark", "none": ""}[kernel.Growth]
		if kernel.Growth == "cell" && kernel.Cell != nil && !kernel.Running {
			about = "in the cell that ran last"
		}
		if p.state.Meter != "" {
			about = strings.TrimSpace(about + " · " + words.Meter(p.state.Meter) + " only")
		}
	case Variables:
		if kernel.VariablesNS > 0 {
			about = "as they were " + words.Duration(kernel.VariablesNS) + " after the attach"
		}
	case Cells:
		about = "so far, the newest first"
		if by := p.state.Sort[Cells]; by > 0 {
			about = "so far, by " + columns[Cells][by].title
		}
	}
	return append(spans, Span{about, Plain})
}

// empty returns the reason why a table has no rows.
func (p *page) empty(kernel *model.Kernel) string {
	switch {
	case p.state.Tab == Variables && kernel.VariablesNS == 0:
		return "not looked for; u reads them from outside, without stopping the process"
	case p.state.Tab == Variables:
		return "no variable is large"
	case p.state.Tab == Children:
		return "no child process is running"
	case p.state.Tab == Cells:
		return "no cell has run since the attach"
	case kernel.Growth == "none":
		return "no cell has run since the attach"
	}
	return "the meters of blocks saw no allocation"
}

// after returns a text about the items without a row; "" if there are none.
func (p *page) after(kernel *model.Kernel) string {
	switch {
	case p.state.Tab == Lines && kernel.Unlisted > 0:
		return fmt.Sprintf("… and %s, which grew by %s together",
			words.Plural(kernel.Unlisted, "more stack"), words.Bytes(kernel.UnlistedNet))
	case p.state.Tab == Variables && kernel.Names != nil && kernel.Names.Unlisted > 0:
		return fmt.Sprintf("… and %s, with %s together",
			words.Plural(int(kernel.Names.Unlisted), "more name"), words.Bytes(kernel.Names.Bytes))
	case p.state.Tab == Children && kernel.ChildrenUnlisted > 0:
		return "… and " + words.Plural(kernel.ChildrenUnlisted, "more process")
	case p.state.Tab == Cells && kernel.CellsUnlisted > 0:
		return "… and " + words.Plural(kernel.CellsUnlisted, "more cell")
	}
	return ""
}

// rowsOf returns the rows of the shown table.
func (p *page) rowsOf(kernel *model.Kernel) (lines []line) {
	switch p.state.Tab {
	case Lines:
		for _, a := range kernel.Allocations {
			if p.state.Meter == "" || a.Meter == p.state.Meter {
				lines = append(lines, allocated(a, kernel))
			}
		}
	case Variables:
		for _, v := range kernel.Variables {
			c := text.VariableCells(v)
			lines = append(lines, line{c[:], []sortKey{
				{number: v.Bytes + v.Device}, {number: max(v.Reaches, v.Bytes)}, {text: c[2]}, {text: c[3]},
				{text: c[4]}, {text: c[5]},
			}})
		}
	case Children:
		for _, c := range kernel.Children {
			command := escape.OneLine(c.Command, false, 400)
			lines = append(lines, line{
				[]string{words.Total.At(c.Meters, resident), words.Highest.At(c.Meters, resident), fmt.Sprint(c.PID),
					command,
				},
				[]sortKey{
					{number: c.Meters[resident].End}, {number: c.Meters[resident].Peak}, {number: -int64(c.PID)},
					{text: command},
				},
			})
		}
	case Cells:
		if kernel.Running && kernel.Cell != nil {
			lines = append(lines, ran(kernel.Cell, true))
		}
		for i := range kernel.Cells {
			lines = append(lines, ran(&kernel.Cells[i], false))
		}
	}
	return lines
}

// ran returns a cell's row. Of several GPUs it has the largest need.
func ran(window *model.Window, running bool) line {
	gpu, onGPU := "", int64(0) // the meter with the largest need, and that need
	for id, f := range window.Meters {
		isLarger := f.Need() > onGPU || f.Need() == onGPU && id < gpu
		if isDriver(id) && (gpu == "" || isLarger) {
			gpu, onGPU = id, f.Need()
		}
	}
	source := escape.OneLine(window.Source, window.SourceTruncated, 400)
	switch {
	case running:
		source = "running · " + source
	case window.Status != model.OK:
		source = window.Status + " · " + source
	}
	figure := window.Meters[resident]
	need := "–"
	if gpu != "" {
		need = words.Need.At(window.Meters, gpu)
	}
	return line{
		[]string{
			escape.Bounded(text.Label(*window), 40), words.Need.At(window.Meters, resident), need,
			words.Consumed.At(window.Meters, resident), words.Highest.At(window.Meters, resident),
			words.Duration(window.DurationNS), source,
		},
		[]sortKey{
			{number: int64(window.ID)}, {number: figure.Need()}, {number: onGPU}, {number: figure.Consumed},
			{number: figure.Peak}, {number: window.DurationNS}, {text: source},
		},
	}
}

// allocated returns the row of the allocations of one stack.
func allocated(allocation model.Allocation, kernel *model.Kernel) line {
	meter, who := words.Meter(allocation.Meter), text.Who(allocation.Stack)
	grew := words.Bytes(allocation.Net)
	if allocation.Net > 0 {
		grew = "+" + grew
	}
	if c, ok := kernel.Coverage[allocation.Meter]; allocation.Sampled {
		grew = "~" + grew
	} else if ok && !c.Exact {
		grew = "≈" + grew
	}
	atPeak := words.Sampled(words.Bytes(allocation.AtPeak), allocation.Sampled)
	taken := words.Sampled(words.Bytes(allocation.Allocated), allocation.Sampled)
	times := words.Sampled(words.Count(uint64(max(0, allocation.Count))), allocation.Sampled)
	if kernel.Growth == "mark" { // only growth is counted from a mark on
		taken, times = "–", "–"
	}
	return line{
		[]string{grew, atPeak, taken, times, meter, who},
		[]sortKey{
			{number: allocation.Net}, {number: allocation.AtPeak}, {number: allocation.Allocated},
			{number: allocation.Count}, {text: meter}, {text: who},
		},
	}
}

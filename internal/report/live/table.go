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

// column is a column of a table. It can sort the table, the most first.
type column struct {
	title string
	cells int // 0: the rest of the width
	right bool
	drop  int  // the highest gives way first if the width is short; 0: never
	ofGPU bool // only if a GPU is used
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

// sortKey sorts by a number, the most first, or by a text.
type sortKey struct {
	number int64
	text   string
}

// table shows the table of the tab in a number of rows.
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
	var header []Span
	for i, c := range columns {
		if !shown[i] {
			continue
		}
		title := strings.ToUpper(c.title)
		style := Dim
		if i == by {
			title, style = title+"▼", Bold
		}
		header = append(header, Span{p.pad(title, c), style})
	}
	p.add(header...)
	room := height - 2
	if len(lines) == 0 {
		p.add(Span{p.empty(kernel), Dim})
		return
	}
	p.state.Offset = max(0, min(p.state.Offset, len(lines)-room))
	last := p.after(kernel)
	if len(lines)-p.state.Offset <= room-1 || last == "" {
		lines = lines[p.state.Offset:min(len(lines), p.state.Offset+max(0, room))]
	} else {
		lines = lines[p.state.Offset:min(len(lines), p.state.Offset+max(0, room-1))]
	}
	for _, l := range lines {
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

func styleOf(tab Tab, i int) Style {
	if i == 0 {
		return Bold
	}
	if columns[tab][i].drop > 0 {
		return Dim
	}
	return Plain
}

// pad returns a text in a column, with a gap behind it.
func (p *page) pad(text string, c column) string {
	if c.cells == 0 {
		return text
	}
	if text = escape.Text(text); p.state.ASCII {
		text = ascii(text)
	}
	return escape.Pad(escape.Cut(text, c.cells), c.cells, c.right) + "  "
}

// fitting returns the columns with room: the last one keeps 28 cells as long as others can give way.
func (p *page) fitting(all []column, gpu bool) []bool {
	shown := make([]bool, len(all))
	used := 28
	for i, c := range all {
		if shown[i] = gpu || !c.ofGPU; !shown[i] {
			continue
		}
		if c.cells > 0 {
			used += c.cells + 2
		}
	}
	for p.width > 0 && used > p.width {
		victim := -1
		for i, c := range all {
			if shown[i] && c.drop > 0 && (victim < 0 || c.drop > all[victim].drop) {
				victim = i
			}
		}
		if victim < 0 {
			break
		}
		shown[victim] = false
		used -= all[victim].cells + 2
	}
	return shown
}

// tabLine shows the names of the tables, and the subject of the shown one.
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

// empty gives the reason why a table has no rows.
func (p *page) empty(kernel *model.Kernel) string {
	switch {
	case p.state.Tab == Variables && kernel.VariablesNS == 0:
		return "not looked for; u reads them from outside, without stopping the process"
	case p.state.Tab == Variables:
		return "none that is large"
	case p.state.Tab == Children:
		return "none lives"
	case p.state.Tab == Cells:
		return "no cell has run since the attach"
	case kernel.Growth == "none":
		return "no cell has run since the attach"
	}
	return "nothing was allocated that the meters of blocks see"
}

// after counts the items without a row.
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

// usesGPU reports whether a process has used a GPU.
func usesGPU(kernel *model.Kernel) bool {
	for id := range kernel.Meters {
		if isDriver(id) {
			return true
		}
	}
	return false
}

func isDriver(id string) bool { return words.OfGPU(id) && strings.HasSuffix(id, ".driver") }

// ran returns a cell's row.
func ran(window *model.Window, runs bool) line {
	gpu, onGPU := "", int64(0)
	for id, f := range window.Meters {
		if isDriver(id) && (gpu == "" || f.Need() > onGPU || f.Need() == onGPU && id < gpu) {
			gpu, onGPU = id, f.Need()
		}
	}
	source := escape.OneLine(window.Source, window.SourceTruncated, 400)
	switch {
	case runs:
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
			escape.Bounded(text.Label(*window),
				40), words.Need.At(window.Meters, resident), need, words.Consumed.At(window.Meters, resident),
			words.Highest.At(window.Meters, resident), words.Duration(window.DurationNS), source,
		},
		[]sortKey{
			{number: int64(window.ID)}, {number: figure.Need()}, {number: onGPU}, {number: figure.Consumed},
			{number: figure.Peak},
			{number: window.DurationNS}, {text: source},
		},
	}
}

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
	if kernel.Growth == "mark" { // only its growth is known
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

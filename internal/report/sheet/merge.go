package sheet

import (
	"fmt"
	"path"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// merged is the layout of merged recordings.
type merged struct {
	layout
	m *model.Merge
}

// Merge shows how much memory all nodes had at once, the nodes, and the cells that needed most.
func Merge(merge *model.Merge, options Options) *doc.Document {
	v := merged{newLayout("", options), merge}
	v.together()
	v.nodes()
	v.cells()
	v.doubts(merge.Doubts)
	return v.Document
}

// together shows the highest memory of all nodes at once, and the nodes with the largest shares of it.
func (v merged) together() {
	t := &v.m.Together
	v.Prose("", words.Plural(len(v.m.Nodes), "recording")+" on one timeline, which begins at ", v.m.Started)
	v.Heading("Together")
	v.Field("meter", words.Meter(v.m.Meter), doc.Dim("of each kernel with its children"))
	about := ""
	if t.Standing > 0 {
		about = fmt.Sprintf("about %s, %s in", words.Bytes(t.Standing), words.Duration(t.StandingNS))
	}
	highest := "at most: not known"
	if t.Most != nil {
		highest = "at most " + words.Bytes(*t.Most)
	}
	v.Field("at once", doc.Bold(highest), "at least "+words.Bytes(t.Least), about)
	var parts []doc.Span
	for i, s := range t.Shares {
		if i == mostShares && !v.o.Full {
			parts = append(parts, doc.Dim(words.Plural(len(t.Shares)-i, "more node")))
			break
		}
		parts = append(parts,
			doc.Plain(escape.Bounded(v.m.Nodes[s.Node].Name, maxName)+" "+words.Bytes(s.Bytes)))
	}
	v.Field("of these", parts)
}

// The most items without Full.
const (
	mostShares = 4
	mostNodes  = 30
	mostCells  = 15
)

// nodeName is the most characters of a node's name in a table.
const nodeName = 20

// nodes shows a table of the nodes and their recordings.
func (v merged) nodes() {
	v.Heading("Nodes")
	table := &doc.Table{
		Columns: []doc.Column{doc.Left("node"), doc.Flex("recording").Drop(5), doc.Right("began").Drop(1),
			doc.Left("clock error"), doc.Right("kernels").Drop(3), doc.Right("cells").Drop(2), doc.Right("highest"),
			doc.Left("certificate").Drop(4),
		},
	}
	for i := range v.m.Nodes {
		node := &v.m.Nodes[i]
		if i == mostNodes && !v.o.Full {
			break
		}
		highest := "–"
		if node.Highest != nil {
			highest = words.Highest.Text(&node.Highest.Figure)
		}
		certificate := doc.Plain("complete")
		if !node.Complete {
			certificate = doc.Yellow("not complete")
		}
		table.Row(escape.Bounded(node.Name, nodeName), escape.Bounded(path.Base(node.File), 2*maxName),
			words.Duration(node.StartNS),
			clockOf(node), fmt.Sprint(node.Kernels), fmt.Sprint(node.Cells), highest, certificate)
	}
	v.Table(table)
	if more := len(v.m.Nodes) - table.Len(); more > 0 {
		v.Note("… and %s; --full prints all.", words.Plural(more, "more recording"))
	}
}

// clockOf says how far a recording's times can be off, and whether messages or the user's statement bound that.
func clockOf(node *model.MergeNode) string {
	if node.EarliestStart == nil || node.LatestStart == nil || node.EarliestEnd == nil || node.LatestEnd == nil {
		return "not known"
	}
	width := max(*node.LatestStart-*node.EarliestStart, *node.LatestEnd-*node.EarliestEnd)
	switch {
	case width == 0:
		return "none"
	case node.Messages > 0:
		return words.Duration(width) + " by " + words.Plural(node.Messages, "message")
	}
	return words.Duration(width) + " as stated"
}

// cells shows a table of the cells of all nodes, the largest need first.
func (v merged) cells() {
	v.Heading("Cells by need")
	if len(v.m.Cells) == 0 {
		v.Prose("", "No cell ran.")
		return
	}
	table := &doc.Table{
		Columns: []doc.Column{doc.Right("need"), doc.Right("highest").Drop(2), doc.Left("node"), doc.Flex("cell"),
			doc.Right("at").Drop(3), doc.Right("took").Drop(4), doc.Flex("source").Drop(1),
		},
	}
	most := v.o.Cells
	if most == 0 {
		most = mostCells
	}
	if v.o.Full && v.o.Cells == 0 {
		most = len(v.m.Cells)
	}
	for i := range v.m.Cells[:min(most, len(v.m.Cells))] {
		c := &v.m.Cells[i]
		window := model.Window{Execution: c.Execution, ExecutionCount: c.ExecutionCount, Silent: c.Silent}
		cell := words.CellOf(&window)
		if c.Kernel != "" {
			cell += " of " + escape.Bounded(c.Kernel, maxName)
		}
		table.Row(words.Need.Text(&c.Figure), words.Highest.Text(&c.Figure),
			escape.Bounded(v.m.Nodes[c.Node].Name, nodeName), cell,
			words.Duration(c.AtNS), words.Duration(c.DurationNS),
			doc.Dim(escape.OneLine(strings.TrimSpace(c.Source), false, maxProse/2)))
	}
	v.Table(table)
	if more := len(v.m.Cells) - table.Len() + v.m.CellsUnlisted; more > 0 {
		v.Note("… and %s.", words.Plural(more, "more cell"))
	}
}

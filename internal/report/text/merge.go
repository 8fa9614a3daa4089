package text

import (
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// mergeView has the sections of merged recordings.
type mergeView struct {
	*printer
	m *model.Merge
	o Options
}

// Merge writes merged recordings for people: how much all nodes had at once, the nodes, the cells that needed most. It
// fails with w's error only.
func Merge(w io.Writer, m *model.Merge, o Options) error {
	v := mergeView{o.printer(), m, o}
	v.to = w
	v.together()
	v.nodes()
	v.cells()
	doubted(v.printer, m.Doubts, o.Full)
	return v.flush(w)
}

func (v mergeView) together() {
	t := &v.m.Together
	v.prose("", span{words.Plural(len(v.m.Nodes), "recording") + " on one timeline, which begins at ", plain},
		span{v.m.Started, plain})
	v.title("Together")
	v.field("meter", span{meterName(v.m.Meter), plain}, span{"of each kernel with its children", dim})
	about := ""
	if t.Standing > 0 {
		about = fmt.Sprintf("about %s, %s in", words.Bytes(t.Standing), words.Duration(t.StandingNS))
	}
	highest := "at most: not known"
	if t.Most != nil {
		highest = "at most " + words.Bytes(*t.Most)
	}
	v.field("at once", span{highest, bold}, span{"at least " + words.Bytes(t.Least), plain}, span{about, plain})
	var parts []span
	for i, s := range t.Shares {
		if i == mostShares && !v.o.Full {
			parts = append(parts, span{words.Plural(len(t.Shares)-i, "more node"), dim})
			break
		}
		parts = append(parts,
			span{escape.Bounded(v.m.Nodes[s.Node].Name, maxName) + " " + words.Bytes(s.Bytes), plain})
	}
	v.field("of these", parts...)
}

const (
	mostShares = 4
	mostNodes  = 30
	mostCells  = 15
	nodeName   = 20 // cells of a node's name in a table
)

func (v mergeView) nodes() {
	v.title("Nodes")
	t := table{columns: []column{
		{title: "node"}, {title: "recording", flex: true, drop: 5}, {title: "began", right: true, drop: 1},
		{title: "clock error"}, {title: "kernels", right: true, drop: 3}, {title: "cells", right: true, drop: 2},
		{title: "highest", right: true}, {title: "certificate", drop: 4},
	}}
	for i := range v.m.Nodes {
		n := &v.m.Nodes[i]
		if i == mostNodes && !v.o.Full {
			break
		}
		highest := "–"
		if n.Highest != nil {
			highest = mergeFigure(n.Highest.Figure)
		}
		certificate := span{"complete", plain}
		if !n.Complete {
			certificate = span{"not complete", yellow}
		}
		t.rows = append(t.rows, row{cells: []span{
			{escape.Bounded(n.Name, nodeName), plain}, {escape.Bounded(path.Base(n.File), 2*maxName), plain},
			{words.Duration(n.StartNS), plain}, {clockOf(n), plain}, {fmt.Sprint(n.Kernels), plain},
			{fmt.Sprint(n.Cells), plain}, {highest, plain}, certificate,
		}})
	}
	t.print(v.printer)
	if more := len(v.m.Nodes) - len(t.rows); more > 0 {
		v.prose("", span{fmt.Sprintf("… and %s; --full prints all.", words.Plural(more, "more recording")), dim})
	}
}

// clockOf says how far the place of a recording can be off.
func clockOf(n *model.MergeNode) string {
	if n.EarliestStart == nil || n.LatestStart == nil || n.EarliestEnd == nil || n.LatestEnd == nil {
		return "not known"
	}
	wide := max(*n.LatestStart-*n.EarliestStart, *n.LatestEnd-*n.EarliestEnd)
	switch {
	case wide == 0:
		return "none"
	case n.Messages > 0:
		return words.Duration(wide) + " by " + words.Plural(n.Messages, "message")
	}
	return words.Duration(wide) + " as stated"
}

func mergeFigure(f model.Figure) string { return side(&f, highest) }

func (v mergeView) cells() {
	v.title("Cells by need")
	if len(v.m.Cells) == 0 {
		v.prose("", span{"No cell ran.", plain})
		return
	}
	t := table{columns: []column{
		{title: "need", right: true}, {title: "highest", right: true, drop: 2}, {title: "node"},
		{title: "cell", flex: true}, {title: "at", right: true, drop: 3}, {title: "took", right: true, drop: 4},
		{title: "source", flex: true, drop: 1},
	}}
	most := v.o.Cells
	if most == 0 {
		most = mostCells
	}
	if v.o.Full && v.o.Cells == 0 {
		most = len(v.m.Cells)
	}
	for i := range v.m.Cells[:min(most, len(v.m.Cells))] {
		c := &v.m.Cells[i]
		w := model.Window{Execution: c.Execution, ExecutionCount: c.ExecutionCount, Silent: c.Silent}
		cell := words.CellOf(&w)
		if c.Kernel != "" {
			cell += " of " + escape.Bounded(c.Kernel, maxName)
		}
		t.rows = append(t.rows, row{cells: []span{
			{side(&c.Figure, need), plain}, {side(&c.Figure, highest), plain},
			{escape.Bounded(v.m.Nodes[c.Node].Name, nodeName), plain}, {cell, plain}, {words.Duration(c.AtNS), plain},
			{words.Duration(c.DurationNS), plain},
			{escape.OneLine(strings.TrimSpace(c.Source), false, maxProse/2), dim},
		}})
	}
	t.print(v.printer)
	if more := len(v.m.Cells) - len(t.rows) + v.m.CellsUnlisted; more > 0 {
		v.prose("", span{fmt.Sprintf("… and %s.", words.Plural(more, "more cell")), dim})
	}
}

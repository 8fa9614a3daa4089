package text

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// The most rows in the tables of lines and of tensors, for each meter.
const (
	maxLineRows   = 8
	maxTensorRows = 10
)

// lines shows which of the user's lines allocated in the whole session, with the calls below them.
func (v heapView) lines() {
	t := table{columns: []column{
		{title: "meter"}, {title: "at peak", right: true, size: usualSize},
		{title: "allocated", right: true, size: usualSize},
		{title: "freed", right: true, size: usualSize, drop: 2}, {title: "net", right: true, size: usualSize},
		{title: "times", right: true, drop: 1}, {title: "line", flex: true},
	}, indent: rowIndent}
	shown, first := map[string]int{}, map[string]int64{}
	for _, l := range v.r.Lines {
		if l.Native || !l.InCell() && isLibrary(l.File) || shown[l.Meter] == maxLineRows ||
			max(l.AtPeak, l.Allocated) < max(worthShowing, first[l.Meter]/1000) {
			continue
		}
		if shown[l.Meter]++; shown[l.Meter] == 1 {
			first[l.Meter] = l.AtPeak
		}
		t.rows = append(t.rows, row{cells: []span{
			{meterName(l.Meter), plain}, {words.Sampled(words.Bytes(l.AtPeak), l.Sampled), plain},
			{words.Sampled(words.Bytes(l.Allocated), l.Sampled), plain},
			{words.Sampled(words.Bytes(l.Freed), l.Sampled), dim},
			{words.Sampled(words.Bytes(l.Net), l.Sampled), plain},
			{words.Sampled(fmt.Sprint(l.Count), l.Sampled), dim},
			{escape.OneLine(strings.TrimSpace(place(l.Frame)+v.sourceOf(l)), false, maxProse), plain},
		}})
	}
	if len(t.rows) == 0 {
		return
	}
	v.title("Lines, with all that they called")
	v.prose("", span{"at peak = there at the session's highest moment of the meter", dim})
	v.blank()
	t.print(v.printer)
}

// sourceOf returns the text of a cell's line, if it is known.
func (v heapView) sourceOf(l model.Line) string {
	if text := v.textOf(l); text != "" {
		return "  # " + text
	}
	return ""
}

// rounding returns the bytes that the allocator added, as far as they are known.
func rounding(one model.Tensors) string {
	switch one.Unknown {
	case 0:
		return words.Bytes(one.Rounding)
	case one.Count:
		return "?"
	}
	return "≥" + words.Bytes(one.Rounding)
}

// tensors shows PyTorch's blocks that lived at the end.
func (v heapView) tensors() {
	if len(v.r.Tensors) == 0 {
		return
	}
	var bytes, count int64
	for _, one := range v.r.Tensors {
		bytes += one.Bytes
		count += one.Count
	}
	v.title("PyTorch's blocks that were there at the end")
	v.prose("", span{
		fmt.Sprintf("%s, %s in all; sizes are as the allocator rounded them up",
			words.Plural(int(count), "block"), words.Bytes(bytes)),
		dim,
	})
	v.blank()
	t := table{columns: []column{
		{title: "meter"}, {title: "bytes", right: true, size: usualSize}, {title: "blocks", right: true},
		{title: "of", right: true, size: usualSize}, {title: "rounding", right: true, drop: 1},
		{title: "who", flex: true},
	}, indent: rowIndent}
	for _, one := range v.r.Tensors[:min(len(v.r.Tensors), maxTensorRows)] {
		by := "(made before the attach, or its stack is not known)"
		if len(one.Stack) > 0 {
			by = who(one.Stack)
		}
		t.rows = append(t.rows, row{cells: []span{
			{meterName(one.Meter), plain}, {words.Bytes(one.Bytes), plain}, {fmt.Sprint(one.Count), dim},
			{words.Bytes(one.Size), plain}, {rounding(one), dim}, {by, plain},
		}})
	}
	t.print(v.printer)
	if rest := v.r.Tensors[min(len(v.r.Tensors), maxTensorRows):]; len(rest) > 0 {
		v.prose("", span{
			fmt.Sprintf("… and %s, none of more than %s.",
				words.Plural(len(rest), "more group"), words.Bytes(rest[0].Bytes)),
			dim,
		})
	}
}

package text

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
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
	t := doc.NewTable(doc.Left("meter"), doc.Bytes("at peak"), doc.Bytes("allocated"), doc.Bytes("freed").Drop(2),
		doc.Bytes("net"), doc.Right("times").Drop(1), doc.Flex("line"))
	shown, first := map[string]int{}, map[string]int64{}
	for _, l := range v.r.Lines {
		if l.Native || !l.InCell() && model.IsLibrary(l.File) || shown[l.Meter] == maxLineRows ||
			max(l.AtPeak, l.Allocated) < max(WorthShowing, first[l.Meter]/1000) {
			continue
		}
		if shown[l.Meter]++; shown[l.Meter] == 1 {
			first[l.Meter] = l.AtPeak
		}
		t.Row(words.Meter(l.Meter), words.Sampled(words.Bytes(l.AtPeak), l.Sampled),
			words.Sampled(words.Bytes(l.Allocated), l.Sampled), doc.Dim(words.Sampled(words.Bytes(l.Freed), l.Sampled)),
			words.Sampled(words.Bytes(l.Net), l.Sampled), doc.Dim(words.Sampled(fmt.Sprint(l.Count), l.Sampled)),
			escape.OneLine(strings.TrimSpace(words.Frame(&l.Frame)+v.sourceOf(l)), false, maxProse))
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Lines, with all that they called")
	v.Prose("", doc.Dim("at peak = there at the session's highest moment of the meter"))
	v.Blank()
	v.Table(t)
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
	v.Heading("PyTorch's blocks that were there at the end")
	v.Note("%s, %s in all; sizes are as the allocator rounded them up", words.Plural(int(count), "block"),
		words.Bytes(bytes))
	v.Blank()
	t := doc.NewTable(doc.Left("meter"), doc.Bytes("bytes"), doc.Right("blocks"), doc.Bytes("of"),
		doc.Right("rounding").Drop(1), doc.Flex("who"))
	for _, one := range v.r.Tensors[:min(len(v.r.Tensors), maxTensorRows)] {
		by := "(made before the attach, or its stack is not known)"
		if len(one.Stack) > 0 {
			by = Who(one.Stack)
		}
		t.Row(words.Meter(one.Meter), words.Bytes(one.Bytes), doc.Dim(fmt.Sprint(one.Count)), words.Bytes(one.Size),
			doc.Dim(rounding(one)), by)
	}
	v.Table(t)
	if rest := v.r.Tensors[min(len(v.r.Tensors), maxTensorRows):]; len(rest) > 0 {
		v.Note("… and %s, none of more than %s.", words.Plural(len(rest), "more group"), words.Bytes(rest[0].Bytes))
	}
}

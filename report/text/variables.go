package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/report/escape"
	"ipytracer/words"
)

// Bounds of the list of variables.
const (
	maxVariables  = 5
	leastVariable = 64 << 10 // bytes that a variable must hold alone to have a row
	leastShared   = 1 << 20  // bytes that one which holds nothing alone must reach
)

// variables lists what is there by name, the largest first.
func (v *view) variables(all []model.Variable, names []model.Names) {
	rows, rest := v.worthNaming(all)
	if len(rows) == 0 {
		return
	}
	several := slices.ContainsFunc(all, func(x model.Variable) bool { return x.PID != all[0].PID })
	v.title("Variables at the end (alone: freed with the name; reaches: shared ones, too)")
	t := table{columns: []column{
		{title: "alone", right: true, size: usualSize}, {title: "reaches", right: true, size: usualSize, drop: 3}, {title: "name"}, {title: "type", drop: 1},
		{title: "shape", drop: 2}, {title: "made by", flex: true},
	}, indent: rowIndent}
	for _, x := range rows {
		name := variableName(x)
		if several {
			name = fmt.Sprintf("%s (pid %d)", name, x.PID)
		}
		t.rows = append(t.rows, row{cells: []span{
			{aloneOf(x), plain}, {reachesOf(x), dim}, {name, plain}, {escape.Bounded(x.Type, maxName), plain}, {shapeOf(x), plain}, {maker(x), plain},
		}})
	}
	t.print(v.printer)
	v.unnamed(rest, names)
}

// worthNaming is what has a row: with --full all names.
func (v *view) worthNaming(all []model.Variable) (rows, rest []model.Variable) {
	if v.o.Full {
		return all, nil
	}
	for _, alone := range []bool{true, false} {
		for _, x := range all {
			if own := x.Bytes+x.Device >= leastVariable; own != alone {
				continue
			}
			if len(rows) < maxVariables && (alone || x.Reaches >= leastShared && (x.Kind == "variable" || x.Kind == "output")) {
				rows = append(rows, x)
			} else {
				rest = append(rest, x)
			}
		}
	}
	return rows, rest
}

// unnamed accounts for names without a row.
func (v *view) unnamed(rest []model.Variable, names []model.Names) {
	count, bytes, complete := int64(len(rest)), int64(0), true
	for _, x := range rest {
		bytes += x.Bytes
	}
	for _, n := range names {
		count += n.Unlisted
		bytes += n.Bytes
		complete = complete && n.Complete
	}
	if count > 0 {
		v.prose("", span{fmt.Sprintf("… and %s, with %s together.", words.Plural(int(count), "more name"), words.Bytes(bytes)), dim})
	}
	if !complete {
		v.prose("", span{"≥: there were more objects than could be looked at in time.", yellow})
	}
}

func variableName(x model.Variable) string {
	name := escape.OneLine(x.Name, false, maxProse)
	if len(x.Also) > 0 {
		also := escape.OneLine(strings.Join(x.Also[:min(len(x.Also), 2)], ", "), false, maxName)
		if len(x.Also) > 2 {
			also += ", …"
		}
		name += " = " + also
	}
	return escape.Bounded(name, 2*maxName)
}

func aloneOf(x model.Variable) string {
	text := words.Bytes(x.Bytes)
	switch {
	case x.Device > 0 && x.Bytes < leastVariable:
		text = words.Bytes(x.Device) + " GPU"
	case x.Device > 0:
		text += " + " + words.Bytes(x.Device) + " GPU"
	case x.Bytes == 0:
		text = "shared"
	}
	if !x.Exact && x.Bytes > 0 {
		text = "≥ " + text
	}
	return text
}

func reachesOf(x model.Variable) string {
	if x.Reaches <= 0 || x.Reaches == x.Bytes {
		return ""
	}
	return words.Bytes(x.Reaches)
}

// shapeOf is a shape as people write it: 300 × 400 float64, or a length.
func shapeOf(x model.Variable) string {
	var parts []string
	for _, n := range x.Shape {
		parts = append(parts, fmt.Sprint(n))
	}
	text := strings.Join(parts, " × ")
	if text == "" && x.Length != nil {
		text = "len " + fmt.Sprint(*x.Length)
	}
	return escape.Bounded(strings.TrimSpace(text+" "+x.DType), maxName)
}

// maker is who made a variable's largest piece.
func maker(x model.Variable) string {
	switch {
	case len(x.Stack) > 0:
		return who(x.Stack)
	case x.Before:
		return "before the attach"
	}
	return ""
}

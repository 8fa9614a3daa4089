package trial

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// compareValues compares the digests of two values.
func compareValues(a, b *Value, within Tolerance) verdict {
	switch {
	case a.Kind != b.Kind:
		return differ("%s became %s", describe(a), describe(b))
	case a.Kind == "object" && a.Type == b.Type:
		return verdict{}
	case a.Kind == "object":
		return differ("%s became %s", describe(a), describe(b))
	case a.Kind == "container" || a.Kind == "frame":
		return compareItems(a, b, within)
	case !slices.Equal(a.Shape, b.Shape) || a.Kind == "array" && a.Size != b.Size:
		return differ("%s became %s", describe(a), describe(b))
	}
	v := compareContents(a, b, within)
	if !v.differs && (a.Type != b.Type || a.DType != b.DType) {
		if v.what != "" {
			v.what = "; " + v.what
		}
		return tolerate("%s became %s%s", describe(a), describe(b), v.what)
	}
	return v
}

// describe returns a value's type and shape.
func describe(v *Value) string {
	text := v.Type
	if v.DType != "" {
		text = v.DType
	}
	if v.Kind == "array" || v.Kind == "frame" {
		text += " " + strings.ReplaceAll(fmt.Sprint(v.Shape), " ", ", ")
	}
	return strconv.Quote(text)
}

// compareContents compares two values of one kind and shape.
func compareContents(a, b *Value, within Tolerance) verdict {
	sameHash := a.Hash != "" && a.Hash == b.Hash
	sameWholeText := a.Hash == "" && b.Hash == "" && a.Text != "" && a.Text == b.Text
	if sameHash || sameWholeText {
		return verdict{}
	}
	before, after := unpackFloats(a.Numbers), unpackFloats(b.Numbers)
	if len(before) == 0 || len(before) != len(after) || a.Block != b.Block {
		if a.Text != "" || b.Text != "" {
			return compareTexts(a.Text, b.Text, within).orElse("the text differs beyond its beginning")
		}
		return differ("its contents differ")
	}
	if a.Block > 1 {
		return compareBlocks(a, b, before, after, within)
	}
	for i := range before {
		if !within.near(before[i], after[i]) {
			return differ("element %d of %d: %s became %s", i+1, len(before),
				formatFloat(before[i]), formatFloat(after[i]))
		}
	}
	return tolerate("within the tolerance")
}

// compareBlocks compares large arrays, of which only the sums of blocks of elements are sent. A block's sum may differ
// by the sum of its elements' tolerances.
func compareBlocks(a, b *Value, before, after []float64, within Tolerance) verdict {
	weights := unpackFloats(a.Weights)
	if len(weights) != len(before) {
		return differ("its contents differ")
	}
	for i := range before {
		tolerance := within.Abs*float64(a.Block) + within.Rel*weights[i]
		if !(math.Abs(before[i]-after[i]) <= tolerance) && before[i] != after[i] { // infinities have no difference
			return differ("elements %d to %d: their sum %s became %s", int64(i)*a.Block+1, (int64(i)+1)*a.Block,
				formatFloat(before[i]), formatFloat(after[i]))
		}
	}
	if what := compareSums(a, b, within); what != "" {
		return differ("its %s differs", what)
	}
	return tolerate("within the tolerance in %d blocks of %d elements", len(before), a.Block)
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }

// orElse returns v, or a difference if v has none: only the beginnings of two texts could be compared.
func (v verdict) orElse(what string) verdict {
	if v.what == "" {
		return differ("%s", what)
	}
	return v
}

// compareSums returns the name of the first statistic of two arrays that differs, "" if none does.
func compareSums(a, b *Value, within Tolerance) string {
	if len(a.Sums) == 0 && len(b.Sums) == 0 {
		return ""
	}
	size := 1.0
	for _, n := range a.Shape {
		size *= float64(n)
	}
	scale := within.Abs*size + within.Rel*math.Abs(statistic(a, "abs"))
	for _, name := range []string{"nan", "min", "max", "abs", "sum"} {
		x, y := statistic(a, name), statistic(b, name)
		switch name {
		case "nan":
			if x != y {
				return "number of NaN"
			}
		case "min", "max":
			if !within.near(x, y) {
				return name
			}
		default:
			if !(math.Abs(x-y) <= scale) && !(math.IsNaN(x) && math.IsNaN(y)) && x != y {
				return "sum"
			}
		}
	}
	return ""
}

// statistic returns one of the sums of an array, NaN if it has none with that name.
func statistic(v *Value, name string) float64 {
	if text := v.Sums[name]; text != nil {
		if x, err := strconv.ParseFloat(*text, 64); err == nil {
			return x
		}
	}
	return math.NaN()
}

// compareItems compares two containers or frames, item by item. Frame b may lack columns of frame a: that is tolerated,
// because outputs that depend on a column are compared themselves.
func compareItems(a, b *Value, within Tolerance) verdict {
	if left, gone := withoutColumns(a, b); len(gone) > 0 {
		if v := compareItems(left, b, within); v.differs {
			return v
		}
		return tolerate("without %s of its columns: %.200s", strconv.Itoa(len(gone)), strings.Join(gone, ", "))
	}
	if a.Type != b.Type || a.Size != b.Size || !slices.Equal(a.Shape, b.Shape) || len(a.Items) != len(b.Items) {
		return differ("%s with %d items became %s with %d", describe(a), max(a.Size, int64(len(a.Items))),
			describe(b), max(b.Size, int64(len(b.Items))))
	}
	var tolerated verdict
	for i := range a.Items {
		before, after := &a.Items[i], &b.Items[i]
		if before.Name != after.Name {
			return differ("item %.60s became %.60s", before.Name, after.Name)
		}
		v := compareValues(&before.Value, &after.Value, within)
		if v.differs {
			return differ("item %.60s: %s", before.Name, v.what)
		}
		if v.what != "" && tolerated.what == "" {
			tolerated = tolerate("item %.60s: %s", before.Name, v.what)
		}
	}
	return tolerated
}

// withoutColumns returns frame a without the columns that frame b lacks, and the names of these columns. It returns nil
// if the frames differ in anything else but their elements.
func withoutColumns(a, b *Value) (left *Value, gone []string) {
	if a.Kind != "frame" || b.Kind != "frame" || len(a.Shape) != 2 || len(b.Shape) != 2 {
		return nil, nil
	}
	sameRows, missing := a.Shape[0] == b.Shape[0], a.Shape[1]-b.Shape[1]
	if !sameRows || missing <= 0 || int64(len(a.Items)-len(b.Items)) != missing {
		return nil, nil
	}
	out := *a
	out.Items, out.Shape, out.Size = nil, b.Shape, b.Size
	for i := range a.Items {
		if at := len(out.Items); at < len(b.Items) && a.Items[i].Name == b.Items[at].Name {
			out.Items = append(out.Items, a.Items[i])
		} else {
			gone = append(gone, a.Items[i].Name)
		}
	}
	if len(out.Items) != len(b.Items) {
		return nil, nil
	}
	return &out, gone
}

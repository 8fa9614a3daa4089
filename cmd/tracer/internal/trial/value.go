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
		return differ("%s became %s", described(a), described(b))
	case a.Kind == "object" && a.Type == b.Type:
		return verdict{}
	case a.Kind == "object":
		return differ("%s became %s", described(a), described(b))
	case a.Kind == "container" || a.Kind == "frame":
		return compareItems(a, b, within)
	case !slices.Equal(a.Shape, b.Shape) || a.Kind == "array" && a.Size != b.Size:
		return differ("%s became %s", described(a), described(b))
	}
	v := compareContents(a, b, within)
	if !v.differs && (a.Type != b.Type || a.DType != b.DType) {
		if v.what != "" {
			v.what = "; " + v.what
		}
		return tolerate("%s became %s%s", described(a), described(b), v.what)
	}
	return v
}

// described returns a value's type and shape.
func described(v *Value) string {
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
	if a.Hash != "" && a.Hash == b.Hash || a.Hash == "" && b.Hash == "" && a.Text != "" && a.Text == b.Text {
		return verdict{}
	}
	of, to := unpacked(a.Numbers), unpacked(b.Numbers)
	if len(of) == 0 || len(of) != len(to) || a.Block != b.Block {
		if a.Text != "" || b.Text != "" {
			return compareTexts(a.Text, b.Text, within).orElse("the text differs beyond its beginning")
		}
		return differ("its contents differ")
	}
	if a.Block > 1 {
		return compareBlocks(a, b, of, to, within)
	}
	for i := range of {
		if !within.near(of[i], to[i]) {
			return differ("element %d of %d: %s became %s", i+1, len(of), short(of[i]), short(to[i]))
		}
	}
	return tolerate("within the tolerance")
}

// compareBlocks compares arrays with more elements than are sent, by the sums of their blocks. A block's sum may differ
// by as much as its elements may together.
func compareBlocks(a, b *Value, of, to []float64, within Tolerance) verdict {
	weights := unpacked(a.Weights)
	if len(weights) != len(of) {
		return differ("its contents differ")
	}
	for i := range of {
		if !(math.Abs(of[i]-to[i]) <= within.Abs*float64(a.Block)+within.Rel*weights[i]) && of[i] != to[i] {
			return differ("elements %d to %d: their sum %s became %s", int64(i)*a.Block+1, (int64(i)+1)*a.Block,
				short(of[i]), short(to[i]))
		}
	}
	if what := compareSums(a, b, within); what != "" {
		return differ("its %s differs", what)
	}
	return tolerate("within the tolerance in %d blocks of %d elements", len(of), a.Block)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 12, 64) }

// orElse is another verdict for texts that are the same, as far as they are there.
func (v verdict) orElse(what string) verdict {
	if v.what == "" {
		return differ("%s", what)
	}
	return v
}

// compareSums returns the first sum of two arrays that differs, "" if none does.
func compareSums(a, b *Value, within Tolerance) string {
	if len(a.Sums) == 0 && len(b.Sums) == 0 {
		return ""
	}
	size := 1.0
	for _, n := range a.Shape {
		size *= float64(n)
	}
	scale := within.Abs*size + within.Rel*math.Abs(sum(a, "abs"))
	for _, name := range []string{"nan", "min", "max", "abs", "sum"} {
		x, y := sum(a, name), sum(b, name)
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

func sum(v *Value, name string) float64 {
	if text := v.Sums[name]; text != nil {
		if x, err := strconv.ParseFloat(*text, 64); err == nil {
			return x
		}
	}
	return math.NaN()
}

// compareItems compares two containers or frames, item by item. A frame may lack columns: nothing that was shown was
// made of these.
func compareItems(a, b *Value, within Tolerance) verdict {
	if left, gone := withoutColumns(a, b); len(gone) > 0 {
		if v := compareItems(left, b, within); v.differs {
			return v
		}
		return tolerate("without %s of its columns: %.200s", strconv.Itoa(len(gone)), strings.Join(gone, ", "))
	}
	if a.Type != b.Type || a.Size != b.Size || !slices.Equal(a.Shape, b.Shape) || len(a.Items) != len(b.Items) {
		return differ("%s with %d items became %s with %d", described(a), max(a.Size, int64(len(a.Items))),
			described(b), max(b.Size, int64(len(b.Items))))
	}
	var tolerated verdict
	for i := range a.Items {
		of, to := &a.Items[i], &b.Items[i]
		if of.Name != to.Name {
			return differ("item %.60s became %.60s", of.Name, to.Name)
		}
		v := compareValues(&of.Value, &to.Value, within)
		if v.differs {
			return differ("item %.60s: %s", of.Name, v.what)
		}
		if v.what != "" && tolerated.what == "" {
			tolerated = tolerate("item %.60s: %s", of.Name, v.what)
		}
	}
	return tolerated
}

// withoutColumns returns a frame without the columns that another one of as many rows lacks, and their names; none if
// the two differ in more than that.
func withoutColumns(a, b *Value) (left *Value, gone []string) {
	if a.Kind != "frame" || b.Kind != "frame" || len(a.Shape) != 2 || len(b.Shape) != 2 || a.Shape[0] != b.Shape[0] ||
		a.Shape[1] <= b.Shape[1] || int64(len(a.Items)-len(b.Items)) != a.Shape[1]-b.Shape[1] {
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

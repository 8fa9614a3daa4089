package trial

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

var within = Tolerance{Rel: 1e-6}

// TestTexts: addresses, times and random names do not count as differences. Printed numbers may differ within the
// tolerance, but counts must be equal.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		a, b    string
		same    bool
		differs bool
	}{
		{"x", "x", true, false},
		{"<A at 0x7f0123456789>", "<A at 0x7f9876543210>", false, false},
		{"Wall time: 3.2 ms", "Wall time: 41 µs", false, false},
		{"100%|##| 5/5 [00:03<00:00, 3.21it/s]", "100%|##| 5/5 [00:04<00:00, 2.98it/s]", false, false},
		{`id="T_a1b2c"`, `id="T_c3d4e"`, false, false},
		{"loss 0.123456789", "loss 0.123456790", false, false},
		{"loss 0.1234", "loss 0.1244", false, true},
		{"rows 1000001", "rows 1000002", false, true},
		{"nan", "0.5", false, true},
		{"a\nb", "a\nb\nc", false, true},
		{"", "x", false, true},
	} {
		v := compareTexts(c.a, c.b, within)
		if (v.what == "") != c.same || v.differs != c.differs {
			t.Errorf("%q, %q: %+v", c.a, c.b, v)
		}
	}
	v := compareTexts(strings.Repeat("same line\n", 500)+"left", strings.Repeat("same line\n", 500)+"right", within)
	if !strings.Contains(v.what, `"left" became "right"`) {
		t.Errorf("the first difference is %s", v.what)
	}
}

func drawn(t *testing.T, w, h int, at color.Color, level png.CompressionLevel) string {
	t.Helper()
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	p.Set(1, 1, at)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: level}).Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()) + "\n"
}

// TestPictures: pictures are compared by their pixels. A file that claims too many pixels is not decoded.
func TestPictures(t *testing.T) {
	red := color.RGBA{255, 0, 0, 255}
	a := drawn(t, 10, 10, red, png.BestSpeed)
	if v := comparePictures(a, drawn(t, 10, 10, red, png.NoCompression)); v.differs || v.what == "" {
		t.Errorf("the same pixels: %+v", v)
	}
	if v := comparePictures(a, drawn(t, 10, 10, color.RGBA{250, 0, 0, 255}, png.BestSpeed)); !v.differs ||
		v.what != "1 of 100 pixels differ, by 5 of 255 at most" {
		t.Errorf("%+v", v)
	}
	if v := comparePictures(a, drawn(t, 10, 11, red, png.BestSpeed)); !v.differs ||
		!strings.Contains(v.what, "10×11") {
		t.Errorf("%+v", v)
	}
	huge, err := base64.StdEncoding.DecodeString(strings.TrimSpace(a))
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(huge[16:], 1<<30) // the width in its header
	for _, text := range []string{"", "!", base64.StdEncoding.EncodeToString(huge), a[:40]} {
		if v := comparePictures(a, text); !v.differs {
			t.Errorf("%.20q: %+v", text, v)
		}
	}
}

func pack(numbers ...float64) string {
	var b []byte
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func array(dtype, hash string, numbers ...float64) Value {
	return Value{
		Kind: "array", Type: "numpy.ndarray", DType: dtype, Hash: hash, Shape: []int64{2}, Numbers: pack(numbers...),
	}
}

// TestValues: each kind of difference between two values is found, and equal values have none.
func TestValues(t *testing.T) {
	sums := func(v Value, total string) Value {
		zero := "0.0"
		v.Sums = map[string]*string{"sum": &total, "abs": &total, "nan": &zero}
		return v
	}
	blocks := func(hash string, numbers ...float64) Value {
		v := array("float64", hash, numbers...)
		v.Block, v.Weights = 10, pack(numbers...)
		return v
	}
	list := func(items ...Named) Value {
		return Value{Kind: "container", Type: "list", Size: int64(len(items)), Items: items}
	}
	other, damaged := array("float64", "1", 1, 2), array("float64", "2")
	damaged.Numbers = "!"
	other.Shape = []int64{2, 1}
	one, text := array("float64", "1", 1, 2), Value{Kind: "value", Type: "str", Text: "'a'"}
	for name, c := range map[string]struct {
		a, b    Value
		what    string // a part; "" for the same
		differs bool
	}{
		"the same":        {one, one, "", false},
		"another dtype":   {one, array("float32", "1", 1, 2), "became", false},
		"rounded":         {one, array("float32", "2", 1, 2.0000001), "within the tolerance", false},
		"too far":         {one, array("float64", "2", 1, 2.1), "element 2 of 2", true},
		"NaN":             {one, array("float64", "2", 1, math.NaN()), "element 2", true},
		"both NaN":        {array("float64", "1", math.NaN()), array("float64", "2", math.NaN()), "within", false},
		"infinite":        {array("float64", "1", math.Inf(1)), array("float64", "2", math.Inf(-1)), "element 1", true},
		"another shape":   {one, other, "became", true},
		"a block":         {blocks("1", 3, 7), blocks("2", 3, 7.1), "elements 11 to 20", true},
		"a block, nearly": {blocks("1", 3, 7), blocks("2", 3, 7.0000001), "2 blocks of 10", false},
		"elsewhere":       {sums(blocks("1", 3, 7), "3"), sums(blocks("2", 3, 7), "4"), "sum differs", true},
		"no elements":     {array("object", "1"), array("object", "2"), "contents differ", true},
		"damaged":         {one, damaged, "contents differ", true},
		"another kind":    {one, text, "became", true},
		"a text":          {text, Value{Kind: "value", Type: "str", Text: "'b'"}, "became", true},
		"an object":       {Value{Kind: "object", Type: "A"}, Value{Kind: "object", Type: "A"}, "", false},
		"another object":  {Value{Kind: "object", Type: "A"}, Value{Kind: "object", Type: "B"}, "became", true},
		"a list":          {list(Named{"0", one}), list(Named{"0", one}), "", false},
		"a list's item":   {list(Named{"0", one}), list(Named{"0", array("f", "2", 5, 5)}), "item 0", true},
		"a list's length": {list(Named{"0", one}), list(), "with 0", true},
		"a dict's key":    {list(Named{"'a'", one}), list(Named{"'b'", one}), "became 'b'", true},
		"an item rounded": {list(Named{"0", one}), list(Named{"0", array("float32", "1", 1, 2)}), "item 0", false},
	} {
		v := compareValues(&c.a, &c.b, within)
		if v.differs != c.differs || (v.what == "") != (c.what == "") || !strings.Contains(v.what, c.what) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestDisplayOfAValueIsTheSame: display() of a cell's value counts as the same output.
func TestDisplayOfAValueIsTheSame(t *testing.T) {
	output := func(kind, text string) *Output {
		return &Output{Type: kind, Data: map[string]Blob{"text/plain": {Text: text}}}
	}
	c := &compared{within: within}
	for _, one := range []struct {
		a, b          string
		text          string
		same, differs bool
	}{
		{"execute_result", "execute_result", "3", true, false},
		{"execute_result", "display_data", "3", false, false},
		{"execute_result", "display_data", "4", false, true},
		{"display_data", "execute_result", "3", false, true},
	} {
		v := c.compareOutput(output(one.a, "3"), output(one.b, one.text))
		if (v.what == "") != one.same || v.differs != one.differs {
			t.Errorf("%+v: %+v", one, v)
		}
	}
}

func printed(texts ...string) *Result {
	r := &Result{What: "kernel", ended: true}
	for _, text := range texts {
		r.Cells = append(r.Cells, CellResult{NS: 1e9, Outputs: []Output{
			{Type: "stream", Name: "stdout", Data: map[string]Blob{"text/plain": {Text: text}}},
		}})
	}
	return r
}

// peaked returns the figures of cells with these peaks.
func peaked(peaks ...int64) *Figures {
	f := &Figures{PID: 1}
	for i, p := range peaks {
		f.Cells = append(f.Cells, Window{ID: i + 1, Meters: map[string]model.Figure{
			"cpu.resident": {Start: 10, Peak: p, Exact: true}, "cpu.numpy": {Peak: 0, Exact: true},
		}})
	}
	return f
}

// TestNoiseIsNotHeldAgainstAChange: differences that also occur between two runs of the original do not count against a
// change. The certain saving is that of the worst pair of runs.
func TestNoiseIsNotHeldAgainstAChange(t *testing.T) {
	n := file(t, "a", "b")
	changed, err := n.With(map[int]string{0: "a2"})
	if err != nil {
		t.Fatal(err)
	}
	tr := &Trial{Original: n, Within: within}
	v, bad := &Variant{Name: "v", Notebook: changed}, &Variant{Name: "bad", Notebook: changed}
	random := printed("other", "same")
	random.Values = []Named{{"r", array("f", "2", 9)}}
	first := printed("one", "same")
	first.Values = []Named{{"r", array("f", "1", 1)}}
	failed := printed("one")
	failed.Cells = append(failed.Cells, CellResult{Failed: &Failure{Name: "KeyError"}})
	dead := printed("one")
	dead.Why = "the kernel has ended"
	for _, one := range []struct {
		v       *Variant
		result  *Result
		figures *Figures
	}{
		{nil, first, peaked(100, 300)}, {v, random, peaked(90, 210)}, {v, printed("third", "same"), peaked(95, 250)},
		{nil, random, peaked(100, 280)}, {bad, printed("one", "changed"), peaked(1, 1)},
	} {
		if err := tr.Add(one.v, one.result, one.figures); err != nil {
			t.Fatal(err)
		}
	}
	got := tr.Judge()
	good, worse := got.Variants[0], got.Variants[1]
	if !good.Passed || len(good.Saved) != 1 || good.Saved[0].Certain != 30 || good.Saved[0].Median != 60 ||
		!good.Saved[0].Exact {
		t.Errorf("%+v", good)
	}
	if worse.Passed || len(worse.Differences) == 0 || worse.Differences[0].Cell != 2 {
		t.Errorf("%+v", worse)
	}
	if len(got.Unstable) != 2 || !slices.Equal(got.Order, []int{0, 1, 1, 0, 2}) || got.Best() == nil ||
		got.Best().Name != "v" {
		t.Errorf("%+v", got)
	}
	if c := good.Cells[1]; c.PeakBefore != 280 || c.PeakAfter != 250 || c.NeedBefore != 270 || c.NeedAfter != 240 {
		t.Errorf("%+v", c)
	}
	for name, r := range map[string]*Result{"a cell fails": failed, "the kernel dies": dead} {
		tr := &Trial{Original: n, Within: within}
		v := &Variant{Name: "v", Notebook: changed}
		if tr.Add(nil, first, peaked(100, 300)) != nil || tr.Add(v, r, nil) != nil {
			t.Fatal(name)
		}
		if got := tr.Judge(); got.Variants[0].Passed || got.Best() != nil {
			t.Errorf("%s: %+v", name, got.Variants[0])
		}
	}
	if err := (&Trial{Original: n}).Add(nil, dead, nil); err == nil {
		t.Error("a notebook that dies was tried")
	}
}

// TestManyDifferences: the number of differences of a comparison is bounded.
func TestManyDifferences(t *testing.T) {
	var cells, a, b []string
	for range maxDifferences + 10 {
		cells, a, b = append(cells, "x"), append(a, strings.Repeat("a", 900)), append(b, strings.Repeat("b", 900))
	}
	c := compare(file(t, cells...), file(t, cells...), printed(a...), printed(b...), within)
	if len(c.differences) != maxDifferences || len(c.unknown) == 0 {
		t.Errorf("%d differences, %v", len(c.differences), c.unknown)
	}
	for _, d := range c.differences {
		if len(d.What) > 500 {
			t.Fatalf("%d bytes of one difference", len(d.What))
		}
	}
}

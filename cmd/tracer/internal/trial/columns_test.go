package trial

import (
	"slices"
	"testing"
)

// frameOf returns a frame with the given rows and columns. The contents of a column depend on its name.
func frameOf(rows int64, columns ...string) *Value {
	f := &Value{Kind: "frame", Type: "DataFrame", Shape: []int64{rows, int64(len(columns))}}
	f.Items = append(f.Items, Named{"index", Value{Kind: "value", Text: "RangeIndex"}})
	for _, c := range columns {
		f.Items = append(f.Items, Named{c[:1], Value{Kind: "value", Text: c}})
	}
	return f
}

// TestFewerColumns: a frame may lack columns, which the verdict names. It must not have other contents, other columns,
// other rows, or columns in another order.
func TestFewerColumns(t *testing.T) {
	whole := frameOf(9, "a1", "b2", "c3", "d4")
	for _, c := range []struct {
		to      *Value
		differs bool
		what    string
	}{
		{frameOf(9, "a1", "b2", "c3", "d4"), false, ""},
		{frameOf(9, "b2", "d4"), false, "without 2 of its columns: a, c"},
		{frameOf(9, "b2", "d5"), true, ""}, {frameOf(9, "d4", "b2"), true, ""}, {frameOf(8, "b2", "d4"), true, ""},
		{frameOf(9, "b2", "e5"), true, ""}, {frameOf(9, "a1", "b2", "c3", "d4", "e5"), true, ""},
	} {
		v := compareValues(whole, c.to, Tolerance{})
		if v.differs != c.differs || !c.differs && v.what != c.what {
			t.Errorf("%v: %+v, want %v %q", c.to.Items, v, c.differs, c.what)
		}
	}
	cut := frameOf(9, "a1", "b2") // of more columns than were sent
	cut.Shape = slices.Clone(cut.Shape)
	cut.Shape[1] = 5000
	if v := compareValues(cut, frameOf(9, "a1"), Tolerance{}); !v.differs {
		t.Errorf("%+v", v)
	}
}

package text

import (
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Which columns of a data frame have rows of their own below it.
const (
	maxColumns     = 3       // without --full
	leastColumn    = 1 << 20 // bytes
	shareOfColumns = 20      // of the frame, one in …
)

// columnRows adds rows for the important columns of a data frame, in the column of names: "sku: object, 122.00 MiB".
// One row has the rest.
func columnRows(t *doc.Table, x model.Variable, full bool) {
	if len(x.Columns) < 2 {
		return
	}
	shown := 0
	line := func(text string) {
		shown++
		t.Row("", "", doc.Dim("  "+text))
	}
	rest, bytes, exact := x.MoreColumns, x.RestColumns, true
	for i, c := range x.Columns {
		if !full && (i >= maxColumns || c.Bytes < max(leastColumn, max(x.Bytes, x.Reaches)/shareOfColumns)) {
			rest, bytes, exact = rest+1, bytes+c.Bytes, exact && c.Exact
			continue
		}
		line(escape.Bounded(escape.OneLine(c.Name, false, maxProse), maxName) + ": " + dtypeOf(c) +
			words.BytesOrMore(c.Bytes, c.Exact))
	}
	if shown > 0 && rest > 0 {
		line("… " + words.Plural(int(rest), "more column") + ": " + words.BytesOrMore(bytes, exact))
	}
}

func dtypeOf(c model.Column) string {
	if c.DType == "" {
		return ""
	}
	return escape.Bounded(c.DType, maxName) + ", "
}

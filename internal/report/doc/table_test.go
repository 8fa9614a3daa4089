package doc

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
)

// TestTableWrapsItsLastColumn: no text is cut, at any width; text with little room goes on from the table's
// indentation.
func TestTableWrapsItsLastColumn(t *testing.T) {
	text := "it reads orders, made in In[2], " + strings.Repeat("x", 90) + " edited in line 2 漢字かな漢字かな"
	for width := 47; width < 200; width += 7 {
		for _, last := range []bool{true, false} {
			columns := []Column{Left("cell"), Right("need"), Flex("why")}
			cells := Spans("In[7]", "−160.00 MiB", text)
			if !last {
				slices.Reverse(columns)
				slices.Reverse(cells)
			}
			table := NewTable(columns...)
			table.Row(cells)
			table.Row(cells)
			table.Below([]Span{Red(text)})
			d := &Document{}
			d.Table(table)
			shown := onTerminal(t, d, width)
			for line := range strings.Lines(shown) {
				if n := escape.Cells(strings.TrimSuffix(line, "\n")); n > width || strings.HasSuffix(line, " \n") {
					t.Errorf("width %d: a line of %d cells: %q", width, n, line)
				}
			}
			got := strings.NewReplacer(" ", "", "\n", "", "In[7]", "", "−160.00MiB", "").Replace(shown)
			squeezed := strings.ReplaceAll(text, " ", "")
			if last && strings.Count(got, squeezed) != 3 || strings.Contains(got, "…") {
				t.Errorf("width %d, last %t: something is missing of %q in\n%s", width, last, text, shown)
			}
		}
	}
}

func TestLinesOfAText(t *testing.T) {
	for _, test := range []struct {
		text        string
		first, rest int
		want        []string
	}{
		{"", 20, 20, []string{""}},
		{"one two three", 20, 20, []string{"one two three"}},
		{"one two three four", 14, 30, []string{"one two three", "four"}},
		{strings.Repeat("x", 25), 10, 20, []string{strings.Repeat("x", 10), strings.Repeat("x", 15)}},
		{"漢字かな漢字かな", 11, 11, []string{"漢字かな漢", "字かな"}},
	} {
		if got := lines(test.text, test.first, test.rest); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d and %d: %q, want %q", test.text, test.first, test.rest, got, test.want)
		}
	}
}

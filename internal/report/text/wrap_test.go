package text

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestTableWrapsItsLastColumn: no text is cut, at any width; text with little room goes on from the table's
// indentation.
func TestTableWrapsItsLastColumn(t *testing.T) {
	text := "it reads orders, made in In[2], " + strings.Repeat("x", 90) + " edited in line 2 漢字かな漢字かな"
	for width := 47; width < 200; width += 7 {
		for _, last := range []bool{true, false} {
			columns := []column{{title: "cell"}, {title: "need", right: true}, {title: "why", flex: true}}
			cells := []span{{"In[7]", plain}, {"−160.00 MiB", plain}, {text, plain}}
			if !last {
				slices.Reverse(columns)
				slices.Reverse(cells)
			}
			p := &printer{width: width}
			(&table{
				columns: columns, rows: []row{{cells: cells}, {cells: cells, below: []span{{text, red}}}},
				indent: rowIndent,
			}).print(p)
			for line := range strings.Lines(p.b.String()) {
				if n := escape.Cells(strings.TrimSuffix(line, "\n")); n > width || strings.HasSuffix(line, " \n") {
					t.Errorf("width %d: a line of %d cells: %q", width, n, line)
				}
			}
			got := strings.NewReplacer(" ", "", "\n", "", "In[7]", "", "−160.00MiB", "").Replace(p.b.String())
			squeezed := strings.ReplaceAll(text, " ", "")
			if last && strings.Count(got, squeezed) != 3 || strings.Contains(got, "…") {
				t.Errorf("width %d, last %t: something is missing of %q in\n%s", width, last, text, p.b.String())
			}
		}
	}
}

// TestNothingIsCutForWantOfRoom: a text with an ellipsis on a narrow terminal has one in a file as well, which has no
// width.
func TestNothingIsCutForWantOfRoom(t *testing.T) {
	for name, r := range map[string]*model.Report{
		"rich": reporttest.Rich(), "many": reporttest.Many(), "script": reporttest.Script(),
	} {
		for _, full := range []bool{false, true} {
			cut := func(width int) int {
				var b strings.Builder
				if err := Report(&b, r, Options{Width: width, Full: full}); err != nil {
					t.Fatal(err)
				}
				return strings.Count(b.String(), "…")
			}
			for _, width := range []int{60, 80, 120, 220} {
				if got, want := cut(width), cut(-1); got > want {
					t.Errorf("%s, full %t: %d texts are cut at %d cells, %d in a file", name, full, got, width, want)
				}
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

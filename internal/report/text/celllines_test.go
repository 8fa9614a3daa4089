package text

import (
	"slices"
	"testing"

	"ipytracer/model"
)

// TestCellLines: a statement finds its line; a cell magic has the whole cell.
func TestCellLines(t *testing.T) {
	for source, want := range map[string][]string{
		"x\n%time y":          {"x", "%time y"},
		"%%time\nx\n":         {"%%time\nx\n"},
		"\n  \n%%time\nx":     {"", "  ", "%%time\nx"},
		"x\n%%time\ny":        {"x", "%%time", "y"},
		"":                    {""},
		"# %%time\n%%time\ny": {"# %%time", "%%time", "y"},
	} {
		if got := cellLines(model.Window{Source: source}); !slices.Equal(got, want) {
			t.Errorf("cellLines(%q) = %q, want %q", source, got, want)
		}
	}
}

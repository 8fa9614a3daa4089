package text

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

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
				shown := b.String()
				if !full { // the first lines have so many, and no more
					_, shown, _ = strings.Cut(shown, "\n\n")
				}
				return strings.Count(shown, "…")
			}
			for _, width := range []int{60, 80, 120, 220} {
				if got, want := cut(width), cut(-1); got > want {
					t.Errorf("%s, full %t: %d texts are cut at %d cells, %d in a file", name, full, got, width, want)
				}
			}
		}
	}
}

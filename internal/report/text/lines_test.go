package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/text"
)

// TestTableOfTheUsersLines: the user's lines are in the table, a library's and tiny ones are not; tensors are grouped.
func TestTableOfTheUsersLines(t *testing.T) {
	out := printed(t, reporttest.WithLines(), text.Options{Full: true})
	from := strings.Index(out, "Lines, with all")
	to := strings.Index(out, "Between cells")
	if from < 0 || to < from {
		t.Fatal("no such sections in:\n" + out)
	}
	reporttest.Golden(t, "lines.txt", []byte(out[from:to]))
}

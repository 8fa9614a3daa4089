package sheet_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
)

// options returns the part of a report's options that concerns a document, and size the room for it.
func options(o text.Options) sheet.Options { return sheet.Options{Full: o.Full, Cells: o.Cells} }

func size(o text.Options) doc.Size { return o.Size() }

// onTerminal returns a document as a terminal has it, and checks that nothing in it can act on one.
func onTerminal(t *testing.T, d *doc.Document, o text.Options) string {
	t.Helper()
	var b strings.Builder
	if err := d.Text(&b, size(o)); err != nil {
		t.Fatal(err)
	}
	reporttest.CheckSafe(t, b.String(), "\n")
	return b.String()
}

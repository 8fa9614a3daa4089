package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"ipytracer/cmd/tracer/internal/console"
)

// TestManPages writes the manual, a page for each command that help lists, into the folder that $TRACER_MAN_PAGES
// names: a release has it from here.
func TestManPages(t *testing.T) {
	folder := os.Getenv("TRACER_MAN_PAGES")
	if folder == "" {
		folder = t.TempDir()
	}
	root := newRootCommand(console.Console{})
	root.InitDefaultCompletionCmd()
	listed := forManual(root)
	header := &doc.GenManHeader{Section: "1", Source: "ipytracer " + version, Manual: "ipytracer"}
	if err := doc.GenManTree(root, header, folder); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "tracer*.1"))
	if err != nil || len(pages) != listed || listed < 10 {
		t.Errorf("%d pages of %d commands: %v", len(pages), listed, err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "tracer.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".SH NAME", "\n0  done\n1  it failed", "tracer-attach(1)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("tracer.1 has no %q:\n%s", want, text)
		}
	}
}

// forManual makes the long texts of a command and of those below it Markdown, and counts those that help lists. Their
// indented lines are tables.
func forManual(cmd *cobra.Command) (listed int) {
	if cmd.Hidden {
		return 0
	}
	cmd.DisableAutoGenTag = true
	var lines []string
	table := false
	for line := range strings.SplitSeq(cmd.Long, "\n") {
		indented := strings.HasPrefix(line, "  ")
		if indented != table && len(lines) > 0 {
			lines = append(lines, "")
		}
		if table = indented; indented {
			line = "  " + line
		}
		lines = append(lines, line)
	}
	cmd.Long = strings.Join(lines, "\n")
	listed = 1
	for _, below := range cmd.Commands() {
		listed += forManual(below)
	}
	return listed
}

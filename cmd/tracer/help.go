package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
)

// Widths of help, in columns.
const (
	widestHelp = 120 // at most
	pipedHelp  = 100 // in a file or a pipe, such as a pager's
)

// fitHelp makes every command's help fit the terminal's width.
func fitHelp(root *cobra.Command, c console.Console) {
	columns := console.Width(c.Out)
	if columns < 0 {
		columns = pipedHelp
	}
	columns = min(columns, widestHelp)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ",
		fmt.Sprintf(".FlagUsagesWrapped %d ", columns)))
	var fit func(cmd *cobra.Command)
	fit = func(cmd *cobra.Command) {
		cmd.Long = fillParagraphs(cmd.Long, columns)
		for _, inner := range cmd.Commands() {
			fit(inner)
		}
	}
	fit(root)
}

// fillParagraphs fills the paragraphs of a text to a width. A line that begins with a blank stays as it is.
func fillParagraphs(text string, columns int) string {
	var b strings.Builder
	width := 0 // of the present line
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			if width > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line + "\n")
			width = 0
			continue
		}
		for word := range strings.FieldsSeq(line) {
			size := utf8.RuneCountInString(word)
			switch {
			case width == 0:
			case width+1+size > columns:
				b.WriteByte('\n')
				width = 0
			default:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(word)
			width += size
		}
		if strings.HasSuffix(line, ":") { // a list follows
			b.WriteByte('\n')
			width = 0
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

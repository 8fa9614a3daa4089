package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
)

// The widest help, and its width in a file or a pipe, such as a pager's.
const (
	widestHelp = 120
	pipedHelp  = 100
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
		cmd.Long = filled(cmd.Long, columns)
		for _, inner := range cmd.Commands() {
			fit(inner)
		}
	}
	fit(root)
}

// filled returns a text with its paragraphs filled to a width. A line that begins with a blank stays as it is.
func filled(text string, columns int) string {
	var b strings.Builder
	used := 0 // of the line
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			if used > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line + "\n")
			used = 0
			continue
		}
		for word := range strings.FieldsSeq(line) {
			size := utf8.RuneCountInString(word)
			switch {
			case used == 0:
			case used+1+size > columns:
				b.WriteByte('\n')
				used = 0
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += size
		}
		if strings.HasSuffix(line, ":") { // a list follows
			b.WriteByte('\n')
			used = 0
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

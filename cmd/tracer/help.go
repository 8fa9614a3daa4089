package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The widest help, and its width in a file or a pipe, such as a pager's.
const (
	widestHelp = 120
	pipedHelp  = 100
)

// fitHelp makes every command's help fit the terminal's width.
func fitHelp(root *cobra.Command, c console) {
	columns := width(c.out)
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

// wrongArguments adds the arguments that a command takes.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	if !cmd.HasParent() { // the first word is no command
		if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
			return fmt.Errorf("%w; did you mean '%s %s'? see '%s --help'", err, cmd.Name(), close[0], cmd.Name())
		}
		return fmt.Errorf("%w; see '%s --help'", err, cmd.Name())
	}
	usage := strings.Replace(cmd.UseLine(), " [flags]", "", 1)
	if len(args) == 0 {
		return fmt.Errorf("something is missing; type '%s', see '%s --help'", usage, cmd.CommandPath())
	}
	return fmt.Errorf("these are not the arguments it takes; type '%s', see '%s --help'", usage, cmd.CommandPath())
}

// wrongValue adds the values that a flag takes.
func wrongValue(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	is := ""
	switch bad.GetFlag().Value.Type() {
	case "duration":
		is = "a time such as 30s or 10m"
	case "int":
		is = "a whole number"
	default:
		return err
	}
	return fmt.Errorf("--%s %q: it is %s", bad.GetFlag().Name, bad.GetValue(), is)
}

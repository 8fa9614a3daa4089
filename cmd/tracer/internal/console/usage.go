package console

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Args turns an error about arguments into a usage error.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(wrongArguments(cmd, args, err))
		}
		return nil
	}
}

// Hidden returns a command that help does not list.
func Hidden(
	use, short string, args cobra.PositionalArgs, run func(*cobra.Command, []string) error,
) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Hidden: true, Args: Args(args), RunE: run}
}

// wrongArguments returns an error that says which arguments a command takes. For the root command, whose first argument
// is an unknown command, the error names a similar command.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	if isRoot := !cmd.HasParent(); isRoot {
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			return fmt.Errorf("%w; did you mean '%s %s'? see '%s --help'", err, cmd.Name(), similar[0], cmd.Name())
		}
		return fmt.Errorf("%w; see '%s --help'", err, cmd.Name())
	}
	mistake := "wrong number of arguments"
	if len(args) == 0 {
		mistake = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + " needs " + neededArguments(cmd.Use)
	}
	usage := strings.Replace(cmd.UseLine(), " [flags]", "", 1)
	return fmt.Errorf("%s; type '%s', see '%s --help'", mistake, usage, cmd.CommandPath())
}

// optional matches optional arguments in a command's usage, and marks that are no arguments.
var optional = regexp.MustCompile(`\[[^]]*\]|\.\.\.| -- |[{}]`)

// neededArguments lists the arguments that a command needs, by its usage: "a FILE or a PID", "a FILE and another FILE".
func neededArguments(use string) string {
	_, arguments, _ := strings.Cut(use, " ")
	text := ""
	for word := range strings.FieldsSeq(optional.ReplaceAllString(arguments, " ")) {
		switch {
		case word == "|":
			text += " or "
			continue
		case text != "" && !strings.HasSuffix(text, " "):
			text += " and "
		}
		switch {
		case strings.Contains(text, " "+word+" "):
			text += "another "
		case len(word) > 1:
			text += "a "
		}
		text += word
	}
	return text
}

// WrongValue returns an error of pflag's with the values that the flag takes.
func WrongValue(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	wanted := ""
	switch bad.GetFlag().Value.Type() {
	case "duration":
		wanted = "a time such as 30s or 10m"
	case "int":
		wanted = "a whole number"
	default:
		return err
	}
	return fmt.Errorf("--%s %q: must be %s", bad.GetFlag().Name, bad.GetValue(), wanted)
}

// ParsePIDs reads the process IDs of a command line.
func ParsePIDs(args []string) (pids []int, err error) {
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil || pid <= 0 {
			return nil, Usagef("%q is not a process id; 'tracer kernels' lists them", a)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

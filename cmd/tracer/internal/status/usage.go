package status

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

// wrongArguments returns an error that says which arguments a command takes. For the root, which takes none, the error
// wraps err, and names a command that may have been meant.
func wrongArguments(cmd *cobra.Command, args []string, err error) error {
	if isRoot := !cmd.HasParent(); isRoot { // the first word is no command
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			return fmt.Errorf("%w; did you mean '%s %s'? see '%s --help'", err, cmd.Name(), similar[0], cmd.Name())
		}
		return fmt.Errorf("%w; see '%s --help'", err, cmd.Name())
	}
	wrong := "wrong number of arguments"
	if len(args) == 0 {
		wrong = strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + " needs " + needed(cmd.Use)
	}
	usage := strings.Replace(cmd.UseLine(), " [flags]", "", 1)
	return fmt.Errorf("%s; type '%s', see '%s --help'", wrong, usage, cmd.CommandPath())
}

// optional matches the arguments in a command's usage that may be left out, and marks that are no arguments.
var optional = regexp.MustCompile(`\[[^]]*\]|\.\.\.| -- |[{}]`)

// needed names the arguments without which a command does nothing: "a FILE or a PID".
func needed(use string) string {
	_, arguments, _ := strings.Cut(use, " ")
	said := ""
	for word := range strings.FieldsSeq(optional.ReplaceAllString(arguments, " ")) {
		switch {
		case word == "|":
			said += " or "
			continue
		case said != "" && !strings.HasSuffix(said, " "):
			said += " and "
		}
		switch {
		case strings.Contains(said, " "+word+" "):
			said += "another "
		case len(word) > 1:
			said += "a "
		}
		said += word
	}
	return said
}

// WrongValue adds the values that a flag takes.
func WrongValue(err error) error {
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
	return fmt.Errorf("--%s %q: must be %s", bad.GetFlag().Name, bad.GetValue(), is)
}

// ParsePIDs reads the process ids of a command line.
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

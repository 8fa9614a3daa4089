package status

import (
	"errors"
	"fmt"
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
	return fmt.Errorf("--%s %q: it is %s", bad.GetFlag().Name, bad.GetValue(), is)
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

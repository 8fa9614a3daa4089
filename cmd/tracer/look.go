package main

import (
	"fmt"
	"maps"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/doctor"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/look"
)

// looks are the kinds of look that a process without rights can make.
var looks = func() map[string]look.For {
	all := maps.Clone(doctor.Looks)
	maps.Copy(all, inventory.Looks)
	return all
}()

func newLookCommand(c console) *cobra.Command {
	return &cobra.Command{
		Use:    look.Command,
		Short:  "Look into processes; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // its parent ends it
			what, ok := looks[args[0]]
			if !ok {
				return usageError{fmt.Errorf("%q is not a kind of look", args[0])}
			}
			pids, err := parsePIDs(args[1:])
			if err != nil {
				return usageError{err}
			}
			return look.Serve(cmd.Context(), c.in, c.out, what, append(pids, 0)[0])
		},
	}
}

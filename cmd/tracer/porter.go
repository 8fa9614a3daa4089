package main

import (
	"github.com/spf13/cobra"

	"ipytracer/internal/serving"
)

// newPorterCommand returns the hidden command that holds connections open, which a server does not want to close
// itself, until it is killed.
func newPorterCommand() *cobra.Command {
	return &cobra.Command{
		Use:    serving.PorterCommand,
		Short:  "Have connections open for a server until killed; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			serving.AwaitKill()
			return nil
		},
	}
}

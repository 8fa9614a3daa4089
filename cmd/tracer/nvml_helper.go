package main

import (
	"github.com/spf13/cobra"

	"ipytracer/internal/gpu"
)

// newNVMLHelperCommand returns the hidden command that queries NVML for a session.
func newNVMLHelperCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:    gpu.HelperCommand,
		Short:  "Ask NVIDIA's driver for a session; started by tracer itself",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			as, err := gpu.ParseHelperUser(user)
			if err != nil {
				return usageError{err}
			}
			return gpu.ServeHelper(as)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "who it becomes: ids of the user, the group, and further groups")
	return cmd
}

package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/doctor"
	"ipytracer/cmd/tracer/internal/workload"
)

func newWorkloadCommand(console) *cobra.Command {
	return &cobra.Command{
		Use:    "workload NAME",
		Short:  "Run one workload of the self-test",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "costs" {
				return doctor.PrintCosts(os.Stdout)
			}
			err := workload.Run(args[0])
			if errors.Is(err, workload.ErrUnknown) {
				return usageError{err}
			}
			return err
		},
	}
}

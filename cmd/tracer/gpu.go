package main

import (
	"context"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/inventory"
)

// GPUOptions are the flags of `tracer gpu`.
type GPUOptions struct{ Format string }

func newGPUCommand(c console) *cobra.Command {
	var o GPUOptions
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Show the GPUs: their memory, who holds it, and which has most of it free",
		Long: "Show each NVIDIA GPU and MIG device with its memory, the processes that hold it, " +
			"and which device has most memory\n" +
			"free. The figures are NVML's, as of now; what they count is in docs/gpu.md.\n\n" +
			"Exit status: 0, or 3 where there is no NVML: no NVIDIA driver, or a build without a C compiler.",
		Example: "  tracer gpu\n  sudo tracer gpu --format json",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGPU(cmd.Context(), o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "the `FORMAT`: text or json")
	cmd.AddCommand(newYieldCommand(c), newRestoreCommand(c))
	return cmd
}

func runGPU(ctx context.Context, o GPUOptions, c console) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	l, err := inventory.GPUs(ctx)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return printJSON(c.out, l)
	}
	return printGPUs(c.out, l)
}

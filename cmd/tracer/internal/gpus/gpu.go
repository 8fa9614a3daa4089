// Package gpus has the command gpu: the GPUs of this machine with the processes that hold their memory, and the moves
// of a process's memory to the host and back.
package gpus

import (
	"context"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
)

// gpuOptions are the flags of `tracer gpu`.
type gpuOptions struct{ Format string }

func newGPUCommand(c console.Console) *cobra.Command {
	var o gpuOptions
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Show the GPUs: their memory, who holds it, and which has most of it free",
		Long: "Show each NVIDIA GPU and MIG device with its memory, the processes that hold it, " +
			"and which device has most memory\n" +
			"free. The figures are NVML's, as of now; what they count is in docs/gpu.md.\n\n" +
			"Exit status: 0, or 3 where there is no NVML: no NVIDIA driver, or a build without a C compiler.",
		Example: "  tracer gpu\n  sudo tracer gpu --format json",
		Args:    status.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGPU(cmd.Context(), o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "the `FORMAT`: text or json")
	cmd.AddCommand(newYieldCommand(c), newRestoreCommand(c))
	return cmd
}

func runGPU(ctx context.Context, o gpuOptions, c console.Console) error {
	if err := output.CheckFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	l, err := inventory.GPUs(ctx)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return console.PrintJSON(c.Out, l)
	}
	return printGPUs(c.Out, l)
}

// Commands returns the command about GPUs.
func Commands(c console.Console) []*cobra.Command { return []*cobra.Command{newGPUCommand(c)} }

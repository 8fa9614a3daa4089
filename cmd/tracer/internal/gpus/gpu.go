// Package gpus has the command gpu: the list of GPUs, yield and restore. The list has the processes that hold a GPU's
// memory; yield and restore move a process's memory to the host and back.
package gpus

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// gpuOptions are the flags of `tracer gpu`.
type gpuOptions struct{ Format string }

func newGPUCommand(c console.Console) *cobra.Command {
	var options gpuOptions
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Show the GPUs: their memory, who holds it, and which has most of it free",
		Long: "Show each NVIDIA GPU and MIG device with its memory, the processes that hold it, " +
			"and which device has most memory\n" +
			"free. The figures are NVML's, as of now; what they count is in docs/gpu.md.\n\n" +
			"Exit status: 0, or 3 where there is no NVML: no NVIDIA driver, or a build without a C compiler.",
		Example: "  tracer gpu\n  sudo tracer gpu --format json",
		Args:    status.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGPU(cmd.Context(), options, c) },
	}
	cmd.Flags().StringVar(&options.Format, "format", "text", "the `FORMAT`: text or json")
	cmd.AddCommand(newYieldCommand(c), newRestoreCommand(c))
	return cmd
}

func runGPU(ctx context.Context, options gpuOptions, c console.Console) error {
	if err := output.CheckFormat(options.Format, "text", "json"); err != nil {
		return err
	}
	l, err := inventory.GPUs(ctx)
	if err != nil {
		return err
	}
	if options.Format == "json" {
		return console.PrintJSON(c.Out, l)
	}
	return printGPUs(c.Out, l)
}

// Commands returns the command about GPUs.
func Commands(c console.Console) []*cobra.Command { return []*cobra.Command{newGPUCommand(c)} }

// commandWidth is the greatest length of a command line in the table, in characters.
const commandWidth = 60

// printGPUs prints the devices, the device with most free memory, the processes, and what could not be read.
func printGPUs(w io.Writer, l inventory.GPUListing) error {
	var out strings.Builder
	fmt.Fprintf(&out, "driver %s · CUDA %s · %s\n",
		doc.Dash(l.Driver), doc.Dash(l.CUDA), words.Plural(len(l.GPUs), "GPU"))
	if len(l.GPUs) > 0 {
		writeDevices(&out, l, console.Colored(w))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func writeDevices(out *strings.Builder, l inventory.GPUListing, color bool) {
	devices := doc.NewListing(color, 3, 4, 5, 6)
	devices.Header("GPU", "NAME", "TOTAL", "USED", "FREE", "RESERVED", "PCI BUS ID", "UUID")
	processes := doc.NewListing(color, 4)
	processes.Header("GPU", "PID", "USER", "MEMORY", "KIND", "PYTHON", "IPYTHON", "FRONTEND", "COMMAND")
	for _, u := range l.GPUs {
		place := strconv.Itoa(u.Index)
		devices.Row(append(append([]any{place, doc.Dash(u.Name)}, memoryCells(u.Memory)...), doc.Dash(u.PCIBusID),
			doc.Dash(u.UUID))...)
		appendProcesses(processes, place, u.Processes)
		for _, in := range u.MIG {
			place := fmt.Sprintf("%d:%d", u.Index, in.Index)
			devices.Row(append(append([]any{place, doc.Dash(in.Name)}, memoryCells(in.Memory)...), "",
				doc.Dash(in.UUID))...)
			appendProcesses(processes, place, in.Processes)
		}
	}
	fmt.Fprintf(out, "\n%s\n", devices)
	if m := l.MostFree; m != nil {
		place := strconv.Itoa(m.Index)
		if m.MIG != nil {
			place += ":" + strconv.Itoa(*m.MIG)
		}
		fmt.Fprintf(out, "\nmost free memory: GPU %s (%s), %s\n", place, doc.Dash(m.Name), words.Bytes(m.Free))
	}
	if processes.Len() > 0 {
		fmt.Fprintf(out, "\n%s\n", processes)
	} else {
		out.WriteString("\nno process is known to hold GPU memory\n")
	}
	for i, line := range unreadLines(l.GPUs) {
		if i == 0 {
			out.WriteString("\nnot known:\n")
		}
		fmt.Fprintf(out, "  %s\n", line)
	}
}

// unreadLines has a line for each thing that could not be read.
func unreadLines(gpus []inventory.GPU) (lines []string) {
	for _, u := range gpus {
		if u.MIGMode == "on" && len(u.MIG) == 0 {
			lines = append(lines, fmt.Sprintf("GPU %d is in MIG mode and has no MIG device that can be seen", u.Index))
		}
		for _, what := range u.Unread {
			lines = append(lines, fmt.Sprintf("GPU %d: %s", u.Index, escape.Text(what)))
		}
	}
	return lines
}

func memoryCells(m *inventory.Memory) []any {
	if m == nil {
		return []any{"-", "-", "-", "-"}
	}
	return []any{words.Bytes(m.Total), words.Bytes(m.Used), words.Bytes(m.Free), bytesOrDash(m.Reserved)}
}

func bytesOrDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return words.Bytes(*n)
}

func appendProcesses(t *doc.Listing, place string, list []inventory.GPUProcess) {
	for _, p := range list {
		used := "not available"
		if p.Used != nil {
			used = words.Bytes(*p.Used)
		}
		pid, command := strconv.Itoa(p.PID), shorten(escape.Text(p.Command))
		if p.InnerPID != p.PID && p.Seen {
			pid += fmt.Sprintf(" (inside %d)", p.InnerPID)
		}
		if !p.Seen {
			command = "ended, or not visible from here"
		}
		t.Row(place, pid, doc.Dash(p.User), used, strings.Join(p.Kinds, "+"), doc.Dash(p.Python),
			doc.Dash(p.IPython), doc.Dash(p.Frontend), command)
	}
}

// shorten cuts a printable line to commandWidth.
func shorten(line string) string {
	if utf8.RuneCountInString(line) <= commandWidth {
		return line
	}
	return string([]rune(line)[:commandWidth-1]) + "…"
}

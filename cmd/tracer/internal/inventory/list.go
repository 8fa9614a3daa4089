package inventory

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/commandline"
	"ipytracer/internal/host/process"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// kernelsOptions are the flags of `tracer kernels`.
type kernelsOptions struct {
	Format string
	All    bool
}

func newKernelsCommand(c console.Console) *cobra.Command {
	var o kernelsOptions
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "List the Python processes that can be attached to",
		Long: "List the Jupyter and IPython kernels on this machine: pid, user, versions, front end, " +
			"memory, GPUs, folder and\n" +
			"notebook. 'tracer attach' takes the pid. Without root the list has your own kernels, " +
			"with sudo everybody's.",
		Example: "  tracer kernels\n  sudo tracer kernels\n  tracer kernels --all --format json",
		Args:    console.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runKernels(cmd.Context(), o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "the `FORMAT` of the list: text or json")
	cmd.Flags().BoolVar(&o.All, "all", false, "also list Pythons that run no IPython")
	return cmd
}

func runKernels(ctx context.Context, o kernelsOptions, c console.Console) error {
	if err := console.CheckFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	list, err := List(ctx, o.All)
	if err != nil {
		return err
	}
	rows := list.Rows
	if list.Hidden > 0 {
		c.Say("not shown: %s of other users; 'sudo tracer kernels' shows all",
			words.Plural(list.Hidden, "Python"))
	}
	sayCut(c, &list)
	if o.Format == "json" {
		return console.PrintJSON(c.Out, rows)
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(c.Out, "No running IPython or Jupyter kernel. Start one, or see 'tracer kernels --all'.")
		return err
	}
	return printKernels(c.Out, rows)
}

// sayCut reports the Pythons for which there was no time. Any of them may be a kernel.
func sayCut(c console.Console, list *Listing) {
	if list.Cut > 0 {
		c.Say("of %s, %d with a name of Python's could not be examined in time and may be "+
			"kernels, too: name them by pid", words.Plural(list.Processes, "process"), list.Cut)
	}
}

// printKernels prints the list.
func printKernels(w io.Writer, rows []Python) error {
	header := []string{"PID", "USER", "PYTHON", "IPYTHON", "FRONTEND", "MEMORY", "GPUS", "DIRECTORY"}
	notebooks := slices.ContainsFunc(rows, func(r Python) bool { return r.Notebook != "" })
	if notebooks {
		header = append(header, "NOTEBOOK")
	}
	t := doc.NewListing(console.Colored(w), 1+slices.Index(header, "PID"))
	t.Header(header...)
	for _, r := range rows {
		row := []any{
			r.PID, escape.Text(r.User), doc.Dash(r.Python), doc.Dash(r.IPython), doc.Dash(r.Frontend),
			words.Bytes(r.Resident), gpuList(r.GPUs), escape.Text(r.Cwd),
		}
		if notebooks {
			row = append(row, doc.Dash(words.NotebookName(r.Notebook)))
		}
		t.Row(row...)
	}
	_, err := fmt.Fprintln(w, t)
	return err
}

func gpuList(gpus []int) string {
	if len(gpus) == 0 {
		return "-"
	}
	parts := make([]string, len(gpus))
	for i, g := range gpus {
		parts[i] = strconv.Itoa(g)
	}
	return strings.Join(parts, ",")
}

// Choose returns the kernels for a command without a process ID: the only one, all of them if all is true, or the one
// that the user chooses on the terminal.
func Choose(ctx context.Context, c console.Console, all bool, command string) ([]process.Identity, error) {
	list, err := List(ctx, false)
	if err != nil {
		return nil, err
	}
	sayCut(c, &list)
	var ready []Python
	for _, r := range list.Rows {
		if r.IPython != "" || r.Kernel && r.Frontend == commandline.Marimo {
			ready = append(ready, r)
		}
	}
	switch {
	case len(ready) == 0 && list.Hidden > 0:
		return nil, console.Usagef("no running IPython or Jupyter kernel was found among your processes; "+
			"'sudo tracer %s' sees those of other users", command)
	case len(ready) == 0:
		return nil,
			console.Usagef("no running IPython or Jupyter kernel was found; start one and try again, or name a " +
				"Python process: 'tracer kernels --all' lists them")
	case len(ready) == 1 || all:
		var who []process.Identity
		for _, r := range ready {
			who = append(who, r.Identity)
		}
		return who, nil
	}
	if in, ok := c.In.(*os.File); ok {
		if _, interactive := console.Terminal(in); interactive {
			return ask(c, ready)
		}
	}
	if err := printChoice(c.Err, ready); err != nil {
		return nil, err
	}
	return nil, console.Usagef("several kernels are running: name one of these by its pid, or use --all")
}

// Commands returns the commands that list processes and GPUs.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{newGPUCommand(c), newKernelsCommand(c)}
}

// printChoice prints a numbered list of kernels.
func printChoice(w io.Writer, ready []Python) error {
	t := doc.NewListing(console.Colored(w), 2)
	t.Header("", "PID", "USER", "FRONTEND", "MEMORY", "STARTED", "LAST RAN", "DIRECTORY", "NOTEBOOK")
	for i, r := range ready {
		t.Row(strconv.Itoa(i+1)+")", r.PID, escape.Text(r.User), doc.Dash(r.Frontend), words.Bytes(r.Resident),
			startedAt(r.Identity, time.Now()), lastRan(r.PID), escape.Text(r.Cwd),
			doc.Dash(words.NotebookName(r.Notebook)))
	}
	_, err := fmt.Fprintln(w, t)
	return err
}

// startedAt returns when a process started: the time of day, with the date unless that is today's.
func startedAt(id process.Identity, now time.Time) string {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return "-"
	}
	const tick = 10 * time.Millisecond // of StartTicks
	began := now.Add(time.Duration(id.StartTicks)*tick - time.Duration(up.Nano()))
	if began.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return began.Format("15:04:05")
	}
	return began.Format("2006-01-02 15:04")
}

// lastRan returns how long ago a process last ran.
func lastRan(pid int) string {
	switch ago, ok := (process.FS{}).Proc(pid).LastRan(); {
	case !ok:
		return "-"
	case ago < time.Second:
		return "now"
	case ago < time.Minute:
		return fmt.Sprintf("%d s ago", ago/time.Second)
	default:
		return words.Duration(int64(ago.Truncate(time.Second))) + " ago"
	}
}

// ask asks the user for a number of the list, or a process ID in it, until the answer is one of these.
func ask(c console.Console, ready []Python) ([]process.Identity, error) {
	if err := printChoice(c.Err, ready); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(c.In, 4<<10)
	for {
		fmt.Fprintf(c.Err, "Which one (1-%d, Ctrl-C for none)? ", len(ready))
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, console.Usagef("several kernels are running: none was chosen")
		}
		answer := strings.TrimSpace(string(line))
		n, err := strconv.Atoi(answer)
		if err == nil && n >= 1 && n <= len(ready) {
			return []process.Identity{ready[n-1].Identity}, nil
		}
		i := slices.IndexFunc(ready, func(r Python) bool { return r.PID == n })
		if err == nil && i >= 0 {
			return []process.Identity{ready[i].Identity}, nil
		}
		if answer != "" {
			fmt.Fprintf(c.Err, "%s is neither a number of this list nor the pid of a kernel in it.\n",
				escape.Bounded(strconv.Quote(answer), 100))
		}
	}
}

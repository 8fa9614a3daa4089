package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/escape"
)

// deathsOptions are the flags of `tracer deaths`.
type deathsOptions struct {
	Format string
	Socket string
}

func newDeathsCommand(c console.Console) *cobra.Command {
	var o deathsOptions
	cmd := &cobra.Command{
		Use:   "deaths",
		Short: "List your kernels that were killed, and why, as the machine's agent has seen it",
		Long: "List the reports of your kernels that were killed: at how much memory of which limit, " +
			"in which cell and line,\nand how much that line took. 'tracer agent' makes and keeps them. " +
			"You get your own reports, and with sudo\neverybody's; it needs no root.",
		Example: "  tracer deaths\n  sudo tracer deaths\n  tracer deaths --format json",
		Args:    console.Args(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return runDeaths(o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "the `FORMAT` of the list: text or json")
	cmd.Flags().StringVar(&o.Socket, "socket", deaths.DefaultSocket,
		"the agent's socket: the `PATH` that its configuration has as deaths.socket")
	return cmd
}

func runDeaths(o deathsOptions, c console.Console) error {
	if err := console.CheckFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	reports, err := deaths.Ask(o.Socket)
	switch {
	case errors.Is(err, deaths.ErrNoAgent):
		return fmt.Errorf("%w; ask the administrator to run 'tracer agent', or name its socket with --socket", err)
	case err != nil:
		return err
	}
	if o.Format == "json" {
		if reports == nil {
			reports = []*deaths.Report{}
		}
		return console.PrintJSON(c.Out, reports)
	}
	if len(reports) == 0 {
		_, err := fmt.Fprintln(c.Out, "No kernel of yours was killed, as far as the agent knows.")
		return err
	}
	var out strings.Builder
	for _, r := range reports {
		subject := fmt.Sprintf("a kernel (pid %d)", r.PID)
		if r.Notebook != "" {
			subject = "a kernel of " + escape.Bounded(r.Notebook, 200)
		}
		fmt.Fprintln(&out, r.Says(subject))
	}
	_, err = fmt.Fprint(c.Out, out.String())
	return err
}

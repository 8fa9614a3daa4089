package service

import (
	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/console"
)

func newAgentCommand(c console.Console) *cobra.Command {
	var o agentOptions
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Trace every kernel of this machine for ever, with figures for Prometheus",
		Long: "Trace every kernel of this machine, those that run and those that come, until it is stopped, " +
			"and answer Prometheus at\n" +
			"/metrics: memory now, needs of cells, deaths, losses. One session traces all of them. " +
			"It keeps no cells and no sources.\n" +
			"It needs the capabilities BPF, PERFMON, SYS_PTRACE and DAC_READ_SEARCH, " +
			"and the machine's process ids.\n\n" +
			"SIGHUP reads the configuration again.",
		Example: "  sudo tracer agent\n  sudo tracer agent --config /etc/ipytracer/agent.yaml\n" +
			"  sudo tracer agent check --config /etc/ipytracer/agent.yaml",
		Args: console.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd, o, c) },
	}
	o.addFlags(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Check the configuration, and say what is wrong with it by line",
		Long: "Read the configuration as 'tracer agent' would, and say what is wrong with it, by line. " +
			"It traces nothing and needs no root.\n\n" +
			"Exit status: 0, or 2 where the configuration has a mistake.",
		Example: "  tracer agent check --config /etc/ipytracer/agent.yaml",
		Args:    console.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return checkAgent(cmd, o, c) },
	})
	return cmd
}

// agentOptions are the flags of `tracer agent`.
type agentOptions struct {
	Config    string // the file; "" for the defaults
	Listen    string // the address of /metrics; "" for the configuration's
	ReadyFile string // gets the address once /metrics answers; "" without one
	Verbose   bool
}

// addFlags defines the flags; subcommands have the configuration, too.
func (o *agentOptions) addFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&o.Config, "config", "", "the configuration `FILE`, YAML")
	cmd.Flags().StringVar(&o.Listen, "listen", "", "the `ADDRESS` of /metrics and /healthz (default "+
		telemetry.DefaultListen+")")
	cmd.Flags().StringVar(&o.ReadyFile, "ready-file", "",
		"create `FILE` with the address once kernels are looked for and /metrics answers")
	cmd.Flags().BoolVarP(&o.Verbose, "verbose", "v", false, "log more to standard error")
}

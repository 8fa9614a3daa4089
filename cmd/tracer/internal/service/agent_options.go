package service

import (
	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

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

//go:build agent

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/agent"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/internal/host/privileges"
)

// agentFiles opens the files that the command line and the configuration of an agent name, with the rights of the user
// who typed the command.
type agentFiles struct {
	options agentOptions
	rights  *privileges.Rights
	keep    []uint // the capabilities with which processes that look for kernels become the invoker
}

func newAgentFiles(o agentOptions) (*agentFiles, error) {
	who, err := privileges.FindInvoker()
	if err != nil {
		return nil, err
	}
	rights, err := who.Rights()
	if err != nil {
		return nil, err
	}
	keep := []uint{}
	if who.Heir() != nil {
		keep = []uint{unix.CAP_SETUID, unix.CAP_SETGID}
	}
	return &agentFiles{o, rights, keep}, nil
}

// config reads the configuration, and its budget as a share of time. A mistake in the configuration is a usage error.
func (a *agentFiles) config() (config agent.Config, budget float64, err error) {
	config = agent.DefaultConfig()
	if file := a.options.Config; file != "" {
		f, err := a.rights.Open(file)
		if err != nil {
			return config, 0, console.Usagef("read the configuration: %w", err)
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() { // reading a pipe might wait without end
			return config, 0, console.Usagef("%s: %w", file, cmp.Or(err, errNoFile))
		}
		if config, err = agent.ReadConfig(f, file); err != nil {
			return config, 0, console.Usage(err)
		}
	}
	if listen := a.options.Listen; listen != "" {
		if _, _, err := net.SplitHostPort(listen); err != nil {
			return config, 0, console.Usagef("--listen %q: must be an address such as 127.0.0.1:9464", listen)
		}
		config.Listen = listen
	}
	if budget, err = session.ParseBudget(config.Budget); err != nil {
		return config, 0, console.Usagef("%s: budget: %w", a.options.Config, err)
	}
	return config, budget, nil
}

var errNoFile = errors.New("a configuration must be a regular file")

// checkAgent reads the configuration and the files that it names, and says whether they are right.
func checkAgent(_ *cobra.Command, o agentOptions, c console.Console) error {
	a, err := newAgentFiles(o)
	if err != nil {
		return err
	}
	defer a.rights.Close()
	config, _, err := a.config()
	if err == nil {
		err = config.CheckFiles(a.rights.Open)
	}
	if err != nil {
		return console.Usage(err)
	}
	_, err = fmt.Fprintln(c.Out, "the configuration is right")
	return err
}

// runAgent traces every kernel until the context of the command is done.
func runAgent(cmd *cobra.Command, o agentOptions, c console.Console) error {
	ctx := cmd.Context()
	files, err := newAgentFiles(o)
	if err != nil {
		return err
	}
	defer files.rights.Close()
	config, budget, err := files.config()
	if err != nil {
		return err
	}
	sign, err := files.sign(c)
	if err != nil {
		return err
	}
	log := c.Logger(o.Verbose)
	sockets, err := systemdSockets()
	if err != nil {
		return err
	}
	c.Signals.IgnoreStops()
	err = agent.Run(ctx, agent.Options{
		Config: config, Budget: budget, Keep: files.keep, Version: c.Version, Log: log,
		Reload: files.reloads(ctx, c, log), Open: files.rights.Open,
		Traces: func() { notify(log, daemon.SdNotifyReady) },
		State:  func(text string) { notify(log, "STATUS="+text) },
		Ready: func(at net.Addr) error {
			c.Say("every kernel is traced from now on; figures are at http://%v/metrics; "+
				"Ctrl-C ends it", at)
			return sign(at)
		},
		Sockets: sockets,
	})
	var lacking *agent.RightsError
	switch {
	case errors.As(err, &lacking):
		return console.WithStatus(console.CannotTrace, err)
	case errors.Is(err, agent.ErrAddress):
		return console.Usagef("%w; choose another address with --listen", err)
	case errors.Is(err, agent.ErrExport), errors.Is(err, agent.ErrKubernetes), errors.Is(err, agent.ErrHubPage):
		return console.Usage(err)
	}
	return err
}

// systemdSockets returns the sockets that systemd has opened for this program (docs/agent-deploy.md).
func systemdSockets() ([]net.Listener, error) {
	sockets, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("take the sockets of systemd: %w", err)
	}
	for i, l := range sockets {
		if l == nil {
			return nil, console.Usagef("socket %d of systemd is none that listens for connections", i)
		}
	}
	return sockets, nil
}

// sign prepares the ready file, and returns the function that makes it appear, with the address in it.
func (a *agentFiles) sign(c console.Console) (func(net.Addr) error, error) {
	if a.options.ReadyFile == "" {
		return func(net.Addr) error { return nil }, nil
	}
	sign, err := a.rights.Create(a.options.ReadyFile, false)
	if err != nil {
		return nil, fmt.Errorf("write the ready file: %w", err)
	}
	c.Signals.RemoveOnExit(sign)
	return func(at net.Addr) error {
		_, err := fmt.Fprintln(sign, at)
		if err = errors.Join(err, sign.Commit(), sign.Close()); err != nil {
			return fmt.Errorf("write the ready file: %w", err)
		}
		return nil
	}, nil
}

// reloads reads the configuration again at each SIGHUP, until the context is done, and sends it to the returned
// channel. It only logs a configuration with a mistake.
func (a *agentFiles) reloads(ctx context.Context, c console.Console, log *slog.Logger) <-chan agent.Config {
	hangups, configs := make(chan struct{}, 1), make(chan agent.Config)
	c.Signals.OnHangup(func() {
		select {
		case hangups <- struct{}{}:
		default: // a reload is to come already
		}
	})
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
			}
			config, _, err := a.config()
			if err != nil {
				log.Error("the configuration stays as it is", "error", err)
				continue
			}
			select {
			case configs <- config:
			case <-ctx.Done():
				return
			}
		}
	}()
	return configs
}

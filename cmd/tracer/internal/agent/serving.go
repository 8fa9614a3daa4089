package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/agent/users"
	"ipytracer/event"
)

// ErrHubPage says that JupyterHubs cannot be answered, as the configuration has it.
var ErrHubPage = errors.New("JupyterHub's page cannot be served")

// serveUsers begins to keep what users of JupyterHub have, for hubs that ask, if the configuration has one.
func serveUsers(a *Agent) error {
	c := a.options.Config.HubPage
	if c == nil {
		return nil
	}
	name, _ := os.Hostname()
	k, err := users.New(users.Options{
		Config: *c, Log: a.log, Open: a.options.Open,
		Node:  telemetry.Label(cmp.Or(a.options.Config.Kubernetes.Node, os.Getenv("NODE_NAME"), name)),
		Place: boundaryOf(groupOf(a.fs, os.Getpid()), 0, func() bool { return true }),
		Users: func() bool { return a.config.Load().Users },
		Trusted: func(namespace string) bool {
			return a.config.Load().Hubs.Match(namespace)
		},
		KeepDeaths: func() time.Duration { return a.config.Load().Deaths.Keep },
		Kernels:    func(is func(*telemetry.Kernel) bool) []users.Kernel { return kernelsNow(a.metrics, is) },
	})
	if err != nil {
		return fmt.Errorf("%w: hub_page: %w", ErrHubPage, err)
	}
	a.sinks = append(a.sinks, k)
	a.metrics.users = k
	return nil
}

// kernelsNow returns the kernels for which a function returns true, with the figures that /metrics has of them.
func kernelsNow(m *metrics, is func(*telemetry.Kernel) bool) (all []users.Kernel) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.kernels {
		if !is(k.Kernel) {
			continue
		}
		p, ok := k.monitor.Process(k.PID)
		if !ok {
			continue
		}
		tree := k.monitor.Tree(k.PID)
		one := users.Kernel{
			PID: k.PID, Server: k.HubServer, Notebook: k.Claimed.Notebook, Frontend: telemetry.Label(k.Frontend),
			Python: telemetry.Label(k.Python), Joined: k.Joined.UTC(), Resident: tree[resident], Highest: k.highest,
			GPUs: []users.GPU{},
		}
		if len(p.Limits) > 0 {
			one.Limit = &users.Limit{Kind: p.Limits[0].Kind, Bytes: p.Limits[0].Bytes}
		}
		for n := range event.MaxDevices {
			if bytes, used := tree[event.OfDevice(n, event.Driver).String()]; used {
				one.GPUs = append(one.GPUs, users.GPU{Number: n, Bytes: bytes})
			}
		}
		all = append(all, one)
	}
	return all
}

package agent

import (
	"context"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/event"
	"ipytracer/tracer"
	"ipytracer/tracer/companion"
)

// keepDeaths has reports of deaths kept from now on, and sent over lines of a session, unless that is off.
func keepDeaths(a *Agent, o *tracer.Options) {
	if a.options.Config.Deaths.Off {
		return
	}
	a.deaths = deaths.New(deaths.Options{
		Config:   func() *deaths.Config { return &a.config.Load().Deaths },
		Protocol: companion.Protocol, Log: a.log,
		Place: func(pid int, uid uint32) string { return boundary(a.fs, pid, uid) },
	})
	a.sinks = append(a.sinks, a.deaths)
	o.Messenger = a.deaths
}

// runDeaths writes reports and answers for them until the context is done; then over is closed.
func runDeaths(ctx context.Context, a *Agent) (over <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a.deaths != nil {
			a.deaths.Run(ctx)
		}
	}()
	return done
}

// reloadDeaths returns the section that holds after another one was read.
func reloadDeaths(a *Agent, before, after deaths.Config) deaths.Config {
	if after.Folder != before.Folder || after.Socket != before.Socket || after.Off != before.Off {
		a.log.Warn("deaths.folder, deaths.socket and deaths.off change when the agent is started again")
		after.Folder, after.Socket, after.Off = before.Folder, before.Socket, before.Off
	}
	return after
}

// leaves forgets a kernel that has ended.
func leaves(a *Agent, k *kernel) {
	if a.deaths != nil {
		a.deaths.Left(k.PID)
	}
}

// noteNotebook takes in the notebook that a kernel says it runs, which may come late.
func noteNotebook(a *Agent, e *event.Process) {
	k := a.kernels[e.Root]
	if k == nil || k.PID != int(e.PID) {
		return
	}
	if e.Notebook != "" {
		k.notebook = e.Notebook
		k.facts.claimed.Notebook = notebookOf(e.Notebook)
		a.name(k)
	}
	if a.deaths != nil && !k.Worker {
		a.deaths.Joined(k.Kernel, k.notebook)
	}
}

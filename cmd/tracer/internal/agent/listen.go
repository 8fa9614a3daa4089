package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/users"
)

// pages are those at the public address: /metrics, where they are switched on profiles, and how the agent is.
func (m *metrics) pages() http.Handler {
	mux := m.healthPages()
	mux.Handle("GET /metrics", newShared(promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError,
	})))
	if m.pull != nil {
		mux.Handle("GET "+engines.ProfilesPath, m.pull)
	}
	return mux
}

// healthPages are those for probes.
func (m *metrics) healthPages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", m.state.Healthy)
	mux.HandleFunc("GET /readyz", m.state.Ready)
	return mux
}

// hubPages are those at the Unix socket for hubs, and hubNetworkPages those at the address for hubs on other machines.
func (m *metrics) hubPages() http.Handler {
	mux := m.healthPages()
	mux.Handle("GET "+users.Path, m.users)
	return mux
}

func (m *metrics) hubNetworkPages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+users.Path, m.users.ServeNetwork)
	mux.HandleFunc("GET "+users.ProvePath, m.users.Prove)
	return mux
}

// addresses are where an agent answers. The first is the public one.
type addresses struct {
	doors []*door
}

// openDoors listens at the addresses of the configuration, before anything is loaded into the kernel. An address that
// another program has is no error: it is waited for.
func openDoors(a *Agent) (all addresses, err error) {
	c := &a.options.Config
	all.add(a, c.Listen)
	if c.Health != "" {
		all.add(a, c.Health)
	}
	if hub := c.HubPage; hub != nil {
		if path := hub.SocketPath(); path != "" {
			all.add(a, path).Allow = hub.Admits()
		}
		if hub.Listen != "" {
			all.add(a, hub.Listen)
		}
	}
	for _, d := range all.doors {
		if d.Socket = takeSocket(&a.options.Sockets, d.Address); d.Socket != nil {
			continue
		}
		if err := d.Open(); err != nil {
			all.close()
			return all, fmt.Errorf("%w: %w", ErrAddress, err)
		}
	}
	return all, nil
}

func (all *addresses) add(a *Agent, address string) *door {
	d := &door{Address: address, Log: a.log, Said: a.say, admission: admission{Login: a.loginOf}}
	all.doors = append(all.doors, d)
	return d
}

// loginOf returns the user to whom a user's connections count.
func (a *Agent) loginOf(uid uint32) uint32 { return a.book.Login(uid, "") }

// say notes why there are no answers at an address.
func (a *Agent) say(address string, why error) {
	text := a.metrics.state.Set(address, why)
	if a.options.State != nil {
		a.options.State(text)
	}
}

// takeSocket takes the socket for an address out of a list; nil if there is none. A port is enough: systemd may listen
// at fewer addresses than the configuration has.
func takeSocket(list *[]net.Listener, address string) net.Listener {
	for i, l := range *list {
		at, own := l.Addr().String(), address
		if l.Addr().Network() != "unix" {
			_, at, _ = net.SplitHostPort(at)
			_, own, _ = net.SplitHostPort(own)
		}
		if at == own && at != "" {
			*list = append((*list)[:i:i], (*list)[i+1:]...)
			return l
		}
	}
	return nil
}

func (all *addresses) close() {
	for _, d := range all.doors {
		if d.Socket != nil {
			d.Socket.Close()
		}
	}
}

// handlers gives the doors their pages, once all of these are there.
func (all *addresses) handlers(a *Agent) {
	m, c := a.metrics, &a.options.Config
	for i, d := range all.doors {
		switch {
		case i == 0:
			d.Handler = m.pages()
		case d.Address == c.Health:
			d.Handler = m.healthPages()
		case d.Address == c.HubPage.SocketPath():
			d.Handler = m.hubPages()
		default:
			d.Handler = m.hubNetworkPages()
		}
	}
}

// serve answers until the context is done; the channel has the outcome then. An error ends the agent.
func (all *addresses) serve(ctx context.Context, a *Agent, cancel context.CancelCauseFunc) <-chan error {
	all.handlers(a)
	each := make(chan error, len(all.doors))
	for i, d := range all.doors {
		if i == 0 && a.options.Ready != nil {
			d.Opened = func(at net.Addr) {
				if err := a.options.Ready(at); err != nil {
					cancel(err)
				}
			}
		}
		go func() {
			err := d.Serve(ctx)
			if err != nil {
				err = fmt.Errorf("answer at %s: %w", d.Address, err)
				cancel(err)
			}
			each <- err
		}()
	}
	over := make(chan error, 1)
	go func() {
		var err error
		for range all.doors {
			err = errors.Join(err, <-each)
		}
		over <- err
	}()
	return over
}

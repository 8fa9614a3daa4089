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
func (m *metrics) pages() *http.ServeMux {
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
func (m *metrics) hubPages() *http.ServeMux {
	mux := m.healthPages()
	mux.Handle("GET "+users.Path, m.users)
	return mux
}

func (m *metrics) hubNetworkPages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+users.Path, m.users.ServeNetwork)
	mux.HandleFunc("GET "+users.ProvePath, m.users.Prove)
	return mux
}

// addresses are where an agent answers. The first is the public one.
type addresses []*door

// openDoors listens at the addresses of the configuration, before anything is loaded into the kernel. An address that
// another program has is no error: it is waited for.
func openDoors(a *Agent) (all addresses, err error) {
	c := &a.options.Config
	m := a.metrics
	all.add(a, c.Listen, m.pages)
	if c.Health != "" {
		all.add(a, c.Health, m.healthPages)
	}
	if hub := c.HubPage; hub != nil {
		if path := hub.SocketPath(); path != "" {
			all.add(a, path, m.hubPages).Allow = hub.Admits()
		}
		if hub.Listen != "" {
			all.add(a, hub.Listen, m.hubNetworkPages)
		}
	}
	for _, d := range all {
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

func (all *addresses) add(a *Agent, address string, pages func() *http.ServeMux) *door {
	d := &door{Address: address, pages: pages, Log: a.log, Said: a.say, admission: admission{Login: a.loginOf}}
	*all = append(*all, d)
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

func (all addresses) close() {
	for _, d := range all {
		if d.Socket != nil {
			d.Socket.Close()
		}
	}
}

// serve answers until the context is done; wait returns the outcome then. An error ends the agent.
func (all addresses) serve(ctx context.Context, a *Agent, cancel context.CancelCauseFunc) (wait func() error) {
	each := make(chan error, len(all))
	for i, d := range all {
		d.Handler = d.pages() // all that is in them is there by now
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
	return func() (err error) {
		for range all {
			err = errors.Join(err, <-each)
		}
		return err
	}
}

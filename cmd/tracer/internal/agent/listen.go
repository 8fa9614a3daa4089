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

// pages are the pages at the public address: /metrics, the agent's health, and profiles if the configuration has them.
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

// healthPages are the pages for probes of the agent's health.
func (m *metrics) healthPages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", m.state.Healthy)
	mux.HandleFunc("GET /readyz", m.state.Ready)
	return mux
}

// hubPages are the pages at the Unix socket for hubs.
func (m *metrics) hubPages() *http.ServeMux {
	mux := m.healthPages()
	mux.Handle("GET "+users.Path, m.users)
	return mux
}

// hubNetworkPages are the pages at the address for hubs on other machines.
func (m *metrics) hubNetworkPages() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+users.Path, m.users.ServeNetwork)
	mux.HandleFunc("GET "+users.ProvePath, m.users.Prove)
	return mux
}

// doorList has the doors of an agent. The first is the public one.
type doorList []*door

// openDoors listens at the addresses of the configuration. If another program has an address, that is no error:
// [door.Serve] tries again.
func openDoors(a *Agent) (doors doorList, err error) {
	c := &a.options.Config
	m := a.metrics
	doors.add(a, c.Listen, m.pages)
	if c.Health != "" {
		doors.add(a, c.Health, m.healthPages)
	}
	if hub := c.HubPage; hub != nil {
		if path := hub.SocketPath(); path != "" {
			doors.add(a, path, m.hubPages).Allow = hub.Admits()
		}
		if hub.Listen != "" {
			doors.add(a, hub.Listen, m.hubNetworkPages)
		}
	}
	for _, d := range doors {
		if d.Socket = takeSocket(&a.options.Sockets, d.Address); d.Socket != nil {
			continue
		}
		if err := d.Open(); err != nil {
			doors.close()
			return doors, fmt.Errorf("%w: %w", ErrAddress, err)
		}
	}
	return doors, nil
}

// add adds a door, which is not open yet.
func (doors *doorList) add(a *Agent, address string, pages func() *http.ServeMux) *door {
	d := &door{Address: address, pages: pages, Log: a.log, Said: a.say, admission: admission{Login: a.loginOf}}
	*doors = append(*doors, d)
	return d
}

// loginOf is [admission.Login].
func (a *Agent) loginOf(uid uint32) uint32 { return a.book.Login(uid, "") }

// say is [door.Said].
func (a *Agent) say(address string, why error) {
	text := a.metrics.state.Set(address, why)
	if a.options.State != nil {
		a.options.State(text)
	}
}

// takeSocket removes and returns the socket for an address, nil if there is none. Of a TCP socket only the port must be
// the same: systemd may listen at fewer addresses than the configuration has.
func takeSocket(sockets *[]net.Listener, address string) net.Listener {
	for i, l := range *sockets {
		at, wanted := l.Addr().String(), address
		if l.Addr().Network() != "unix" {
			_, at, _ = net.SplitHostPort(at)
			_, wanted, _ = net.SplitHostPort(wanted)
		}
		if at == wanted && at != "" {
			*sockets = append((*sockets)[:i:i], (*sockets)[i+1:]...)
			return l
		}
	}
	return nil
}

func (doors doorList) close() {
	for _, d := range doors {
		if d.Socket != nil {
			d.Socket.Close()
		}
	}
}

// serve begins to answer at all doors, until the context is done. The first error of a door calls cancel. wait waits
// until all doors are closed, and returns their errors.
func (doors doorList) serve(ctx context.Context, a *Agent, cancel context.CancelCauseFunc) (wait func() error) {
	results := make(chan error, len(doors))
	for i, d := range doors {
		d.Handler = d.pages() // only now are all parts of the pages there
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
			results <- err
		}()
	}
	return func() (err error) {
		for range doors {
			err = errors.Join(err, <-results)
		}
		return err
	}
}

package engines

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// Spans is the section otlp of an agent's configuration. It is read at the start only.
type Spans struct {
	// Endpoint is the address of the receiver, such as https://otel.example.org:4318.
	Endpoint string `yaml:"endpoint"`
	// Protocol is [HTTP], if it is empty, or [GRPC].
	Protocol string `yaml:"protocol"`
	// HeadersFile is a file with headers for each request, such as tokens: a line "Name: value" for each.
	HeadersFile string `yaml:"headers_file"`
	// CAFile has the certificates, in PEM, that may sign the receiver's; "": the machine's.
	CAFile string `yaml:"ca_file"`
	// Insecure allows an endpoint http://… on another machine.
	Insecure bool `yaml:"insecure"`
	// Timeout is the most time for one attempt to send; 0: 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// Queue is the most spans that wait; 0: 2,048.
	Queue int `yaml:"queue"`
	// Source gives spans the sources of their cells.
	Source bool `yaml:"source"`
	// Resource are further attributes of all resources. They replace the agent's own of the same name.
	Resource map[string]string `yaml:"resource"`
}

// Protocols.
const (
	HTTP = "http"
	GRPC = "grpc"
)

// Bounds and defaults of the configuration.
const (
	defaultTimeout = 10 * time.Second
	defaultQueue   = 2048
	maxQueue       = 1 << 16
	maxResource    = 32
	maxText        = 200 // bytes of a name or value of [Spans.Resource]
)

// Check fills in the defaults, and returns the first field with a mistake.
func (c *Spans) Check() (key string, err error) {
	c.Protocol, c.Timeout = cmp.Or(c.Protocol, HTTP), cmp.Or(c.Timeout, defaultTimeout)
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	switch {
	case c.Protocol != HTTP && c.Protocol != GRPC:
		return "protocol", fmt.Errorf("%.20q: must be http or grpc", c.Protocol)
	case c.Timeout < time.Second || c.Timeout > 5*time.Minute:
		return "timeout", fmt.Errorf("%v is not from 1s to 5m", c.Timeout)
	case c.Queue < 1 || c.Queue > maxQueue:
		return "queue", fmt.Errorf("%d is not from 1 to %d", c.Queue, maxQueue)
	case len(c.Resource) > maxResource:
		return "resource", fmt.Errorf("more than %d attributes", maxResource)
	}
	for name, value := range c.Resource {
		if name == "" || len(name) > maxText || len(value) > maxText || text(name) != name || text(value) != value {
			return "resource", fmt.Errorf("%.40q has a name or value that is empty, longer than %d bytes, "+
				"or cannot be shown", name, maxText)
		}
	}
	if _, err := c.address(); err != nil {
		return "endpoint", err
	}
	return "", nil
}

// Mistakes in an endpoint. Their texts do not quote the endpoint, which may have a password.
var (
	errEndpoint = errors.New("must be an address such as https://otel.example.org:4318")
	errSecret   = errors.New("a user, a password or a query has no place in it: headers_file is for tokens")
	errClear    = errors.New("http:// to another machine sends everything in clear text; write https://, " +
		"or insecure: true if that is meant")
	errPath = errors.New("an address for grpc has no path")
)

// address returns the endpoint, with a port.
func (c *Spans) address() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errEndpoint
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errSecret
	case u.Scheme == "http" && !c.Insecure && !isThisMachine(u.Hostname()):
		return nil, errClear
	case c.Protocol == GRPC && strings.Trim(u.Path, "/") != "":
		return nil, errPath
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{HTTP: "4318", GRPC: "4317"}[c.Protocol])
	}
	return u, nil
}

func isThisMachine(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// Package profiles makes profiles of an agent's kernels, in pprof's format: what each kernel allocates in an interval
// and holds at its end, and what each cell allocates and holds at its peak, by Python stack. They are pushed to
// Pyroscope, and can be pulled by Parca.
package profiles

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"ipytracer/cmd/tracer/internal/agent/exports"
)

// Config is the section profiles of an agent's configuration. It is read at the start only: a kernel's stacks are
// walked from its first event on, or never.
type Config struct {
	// URL is the address of Pyroscope, such as https://pyroscope.example.org:4040; "" for none.
	URL string `yaml:"url"`
	// HeadersFile is a file with headers for each request, such as tokens: a line "Name: value" for each.
	HeadersFile string `yaml:"headers_file"`
	// Insecure: a URL http://… may be on another machine.
	Insecure bool `yaml:"insecure"`
	// Every is the length of an interval; 0: a minute.
	Every time.Duration `yaml:"every"`
	// OTLP: they go to the receiver of the section otlp.
	OTLP bool `yaml:"otlp"`
	// Pull: the last interval of each kernel is at /debug/pprof/kernel/SLOT.
	Pull bool `yaml:"pull"`
}

// Bounds and defaults of the configuration.
const (
	usualEvery = time.Minute
	leastEvery = 10 * time.Second
	mostEvery  = time.Hour
)

// Mistakes in the configuration. Their texts have nothing of a URL: a password may stand there.
var (
	errNowhere = errors.New("it needs a url to push to, otlp: true, or pull: true")
	errURL     = errors.New("it is not an address such as https://pyroscope.example.org:4040")
	errHeaders = errors.New("it is for a url, and there is none")
)

// Check fills in the defaults, and returns the first field with a mistake.
func (c *Config) Check() (key string, err error) {
	if c.Every == 0 {
		c.Every = usualEvery
	}
	switch {
	case c.URL == "" && !c.Pull && !c.OTLP:
		return "url", fmt.Errorf("url: %w", errNowhere)
	case c.Every < leastEvery || c.Every > mostEvery:
		return "every", fmt.Errorf("every: %v is not from %v to %v", c.Every, leastEvery, mostEvery)
	case c.URL == "" && c.HeadersFile != "":
		return "headers_file", fmt.Errorf("headers_file: %w", errHeaders)
	}
	if _, err := c.address(); err != nil {
		return "url", fmt.Errorf("url: %w", err)
	}
	return "", nil
}

// address returns the address that profiles are pushed to, nil for none.
func (c *Config) address() (*url.URL, error) {
	if c.URL == "" {
		return nil, nil
	}
	u, err := exports.Address(c.URL, c.Insecure, errURL)
	if err != nil {
		return nil, err
	}
	return u.JoinPath("push.v1.PusherService", "Push"), nil
}

// Package profiles makes profiles of an agent's kernels, in pprof's format: what each kernel allocates in an interval
// and holds at its end, by Python stack. Engines such as Parca and Grafana's Alloy pull them.
package profiles

import (
	"errors"
	"fmt"
	"time"
)

// Config is the section profiles of an agent's configuration. It is read at the start only: a kernel's stacks are
// walked from its first event on, or never.
type Config struct {
	// Every is the length of an interval; 0: a minute.
	Every time.Duration `yaml:"every"`
	// Pull: the last interval of each kernel is at /debug/pprof/kernel/SLOT. Nothing else takes profiles, so it must be
	// true.
	Pull bool `yaml:"pull"`
}

// Pushed are the fields of earlier versions, which pushed profiles.
var Pushed = []string{"url", "headers_file", "insecure", "otlp"}

// Bounds and defaults of the configuration.
const (
	usualEvery = time.Minute
	leastEvery = 10 * time.Second
	mostEvery  = time.Hour
)

var errNowhere = errors.New("it must be true: profiles are pulled")

// Check fills in the defaults, and returns the first field with a mistake.
func (c *Config) Check() (key string, err error) {
	if c.Every == 0 {
		c.Every = usualEvery
	}
	switch {
	case !c.Pull:
		return "pull", fmt.Errorf("pull: %w", errNowhere)
	case c.Every < leastEvery || c.Every > mostEvery:
		return "every", fmt.Errorf("every: %v is not from %v to %v", c.Every, leastEvery, mostEvery)
	}
	return "", nil
}

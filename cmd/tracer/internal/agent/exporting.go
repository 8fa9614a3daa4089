package agent

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ipytracer/cmd/tracer/internal/agent/spans"
)

// ErrExport says that an engine cannot be pushed to, as the configuration has it.
var ErrExport = errors.New("spans cannot be sent")

// sendSpans begins to send spans, if the configuration has a receiver. The caller calls stop at the end: it sends what
// is left, and returns within some seconds.
func (a *Agent) sendSpans(ctx context.Context) (stop func(), err error) {
	c := a.options.Config.OTLP
	if c == nil {
		return func() {}, nil
	}
	s, err := spans.New(spans.Options{
		Config: *c, Version: a.options.Version, Log: a.log, Counts: a.metrics.exports.Of(spans.Engine),
		Open: a.options.Open, Users: func() bool { return a.config.Load().Users },
	})
	if err != nil {
		return nil, fmt.Errorf("%w: otlp: %w", ErrExport, err)
	}
	a.sinks = append(a.sinks, s)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	return func() { cancel(); <-done }, nil
}

// CheckFiles reads the files that a configuration names, and returns the first mistake.
func (c *Config) CheckFiles(open func(string) (*os.File, error)) error {
	if c.OTLP != nil {
		if err := c.OTLP.CheckFiles(open); err != nil {
			return fmt.Errorf("otlp: %w", err)
		}
	}
	if c.Profiles != nil {
		if err := c.Profiles.CheckFiles(open); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
	}
	return nil
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/event"
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
	s, err := engines.NewSink(engines.SinkOptions{
		Config: *c, Version: a.options.Version, Log: a.log, Counts: a.metrics.exports.Of(engines.SpansEngine),
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
	if c.HubPage != nil {
		if err := c.HubPage.CheckFiles(open); err != nil {
			return fmt.Errorf("hub_page: %w", err)
		}
	}
	return nil
}

// maxSources is the most of a kernel's sources that are kept at a time, in bytes: those of the cells that run.
const maxSources = 64 << 10

// withSources reports whether the sources of cells are kept until these end.
func (c *Config) withSources() bool { return c.OTLP != nil && c.OTLP.Source }

// addSource hands the source of a cell to its kernel, if sources are kept.
func addSource(kernels map[uint32]*kernel, c *Config, e *event.CellSource) {
	if !c.withSources() {
		return
	}
	for _, k := range kernels {
		if k.PID == int(e.PID) {
			k.monitor.Add(e)
		}
	}
}

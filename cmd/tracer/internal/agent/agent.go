// Package agent is `tracer agent`: one session of every kernel of the machine. It has the figures of their cells for
// engines that collect them.
package agent

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"ipytracer/cmd/tracer/internal/agent/deaths"
	"ipytracer/cmd/tracer/internal/agent/engines"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// Options are what an agent needs beside its configuration.
type Options struct {
	Config  Config
	Budget  float64 // as in [tracer.Options]
	Keep    []uint  // as in [tracer.Options]
	Version string
	Log     *slog.Logger
	// Open opens the files that the configuration names, with the rights of the person who named it.
	Open func(name string) (*os.File, error)
	// Traces is called once the agent looks for kernels; it may be nil.
	Traces func()
	// Ready is called once /metrics answers as well, with its address; it may be nil. Its error ends the agent.
	Ready func(net.Addr) error
	// State is called with a sentence about the addresses when that changes; it may be nil.
	State func(text string)
	// Sockets listen already, at addresses of the configuration.
	Sockets []net.Listener
	// Reload delivers configurations that replace the present one.
	Reload <-chan Config
}

// Agent follows the kernels of a machine.
type Agent struct {
	options Options
	config  atomic.Pointer[Config] // the present one
	log     *slog.Logger
	fs      process.FS
	session *tracer.Session
	scout   *scout
	metrics *metrics
	*arrivals
	names    names
	book     telemetry.Accounts
	joinRate rateLimit          // for the scout's goroutine
	kernels  map[uint32]*kernel // by root: for the goroutine of Run, and for collections under metrics.mu
	sinks    []telemetry.Sink
	deaths   *deaths.Keeper // nil: off
	tasks    *taskKeeper    // nil: off
	start    *event.Start
	began    uint64            // when the agent started, as [process.Identity.StartTicks]
	counted  time.Time         // when losses were last counted
	profiler *engines.Profiler // nil: no stacks are walked
}

// ErrAddress says that the address of /metrics cannot be listened on.
var ErrAddress = errors.New("no figures can be answered")

// ErrKubernetes says that Kubernetes cannot be asked as the configuration has it.
var ErrKubernetes = errors.New("names of pods cannot be asked for")

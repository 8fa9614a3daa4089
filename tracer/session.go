package tracer

import (
	"context"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/tracee"
)

// Session is a running trace: it attaches, takes in the records of the kernel half, and emits events in their order.
// Its methods are for one goroutine.
type Session struct {
	*trace
	starts []event.ProcessInfo

	// Looks are for the goroutine of the session's methods.
	Looks Looks

	// Births are the Pythons that processes execute, for any goroutine; nil unless the session goes on without targets.
	Births *ledger.Births

	intake    intake
	examiner  examiner
	budget    *budget.Budget
	devices   tracee.Devices
	watches   tracee.Watches
	live      lastlook.Live
	limits    limits
	allowance allowance
	joining   joining
}

// newSession returns a session that has no targets yet.
func newSession(o Options) *Session {
	return newSessionOn(process.FS{Helper: process.NewHelper(context.Background())}, o)
}

// newSessionOn returns a session that sees the processes of a proc file system.
func newSessionOn(fs process.FS, o Options) *Session {
	t := newTrace(fs, o)
	s := &Session{
		trace:   t,
		devices: tracee.Devices{FS: fs, Kernel: t.ledger, Log: t.log, Report: &t.certificate},
		watches: tracee.Watches{FS: fs, Now: tracee.Now},
		limits:  limits{fs: fs, size: o.Limit, mayLimit: o.MayLimit, report: &t.certificate},
		budget:  budget.New(t.ledger, t.log, &t.certificate),
		Looks:   Looks{trace: t, glances: glances{every: o.Glances}},
	}
	if o.arrivals != nil {
		s.joining = joining{open: true, Arrivals: *o.arrivals, wake: func() error { return t.ledger.Wake() }}
	}
	s.examiner = examiner{
		trace: t, limits: &s.limits, counter: &arrayCounting{t.ledger, s.budget, &t.targets},
		host: instruments.Host{
			FileOpener:  &instruments.TargetFiles{Certificate: &t.certificate, FS: fs},
			ProbePlacer: &t.probes.Placer, Witness: &t.certificate, GPUFinder: &s.devices,
			Pauses: s.budget, Pricer: &s.budget.Prices, CrowdCount: &t.targets,
		},
	}
	s.intake = intake{
		trace: t, examiner: &s.examiner, budget: s.budget, devices: &s.devices, watches: &s.watches, live: &s.live,
		limits: &s.limits, allowance: &s.allowance,
		lines: lineMaker{helper: fs.Helper, log: t.log, companion: o.Companion, messenger: o.Messenger},
	}
	s.intake.containers = tracee.Containers{FS: fs, Log: t.log}
	return s
}

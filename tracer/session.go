package tracer

import (
	"context"
	"log/slog"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/gpus"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/running"
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
	devices   gpus.Devices
	watches   tracee.Watches
	live      lastlook.Live
	limits    limits
	allowance allowance
	joining   joining
}

// trace is what the parts of a session share.
type trace struct {
	certificate tracee.Certificate
	log         *slog.Logger
	options     Options
	fs          process.FS
	ledger      *tracee.KernelHalf // without parts until the kernel half is loaded
	targets     tracee.List
	queue       eventQueue
	code        *running.State
	probes      *instruments.Kit
	end         windup
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
		devices: gpus.Devices{FS: fs, Kernel: t.ledger, Log: t.log, Report: &t.certificate},
		watches: tracee.Watches{FS: fs, Now: tracee.Now},
		limits:  limits{fs: fs, size: o.Limit, may: o.MayLimit, report: &t.certificate},
		budget: &budget.Budget{Report: &t.certificate,
			Searches: budget.Searches{Kernel: t.ledger, Log: t.log, Report: &t.certificate}},
		Looks: Looks{trace: t, glances: glances{every: o.Glances}},
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
	return s
}

func newTrace(fs process.FS, o Options) *trace {
	t := &trace{
		log: o.Log, options: o, fs: fs, ledger: &tracee.KernelHalf{},
		targets: tracee.List{FS: fs, Tolerant: o.Tolerant},
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if o.Budget == 0 {
		t.options.Budget = DefaultBudget
	}
	t.code = running.NewState(fs, t.log, t.ledger, &t.certificate, t.targets.Find)
	t.queue.naming = &t.code.Natives.Naming
	t.probes = instruments.NewKit(fs, t.ledger, &t.certificate, &t.code.Natives)
	return t
}

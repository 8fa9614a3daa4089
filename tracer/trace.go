package tracer

import (
	"log/slog"

	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

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

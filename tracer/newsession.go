package tracer

import (
	"context"
	"log/slog"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/gpus"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// newSession returns a session that has no targets yet.
func newSession(o Options) *Session {
	return newSessionOn(process.FS{Helper: process.NewHelper(context.Background())}, o)
}

// newSessionOn returns a session that sees the processes of a proc file system.
func newSessionOn(fs process.FS, o Options) *Session {
	s := &Session{log: o.Log, options: o, fs: fs}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Budget == 0 {
		s.options.Budget = DefaultBudget
	}
	s.interpreters.FS, s.analyses.FS = s.fs, s.fs
	s.watches.FS, s.watches.Now = s.fs, tracee.Now
	s.interpreters.Analyses, s.ahead.Analyses = &s.analyses, &s.analyses
	s.limits = limits{fs: s.fs, size: o.Limit, may: o.MayLimit, report: &s.certificate}
	s.targets = tracee.List{FS: s.fs, Tolerant: o.Tolerant}
	s.natives = running.Natives{FS: s.fs, Log: s.log, Target: s.targets.Find,
		Room: elffile.Room{Bytes: running.MaxNativeBytes}}
	s.devices = gpus.Devices{FS: s.fs, Log: s.log, Report: &s.certificate}
	s.codes.Report = &s.certificate
	s.lines.Serve(s.fs.Helper, s.log, o.Companion, o.Messenger)
	s.glances.every = o.Glances
	s.searches.Log, s.searches.Report = s.log, &s.certificate
	s.budget.Report, s.budget.Searches = &s.certificate, &s.searches
	s.queue.naming = &s.natives.Naming
	s.placer.Certificate, s.placer.Natives = &s.certificate, &s.natives
	s.connectExaminer()
	s.connectIntake()
	s.Looks = Looks{
		log: s.log, fs: s.fs, targets: &s.targets, analyses: &s.analyses, cells: &s.cells, end: &s.end,
	}
	return s
}

// connectExaminer gives the examiner the parts that it uses.
func (s *Session) connectExaminer() {
	s.examiner = examiner{
		Certificate: &s.certificate, log: s.log, options: &s.options, fs: s.fs,
		host: instruments.Host{
			FileOpener:  &instruments.TargetFiles{Certificate: &s.certificate, FS: s.fs},
			ProbePlacer: &s.placer, Witness: &s.certificate, GPUFinder: &s.devices,
			Pauses: &s.budget, Pricer: &s.budget.Prices, CrowdCount: &s.targets,
		},
		placer: &s.placer, queue: &s.queue, targets: &s.targets, interpreters: &s.interpreters, ahead: &s.ahead,
		analyses: &s.analyses, cells: &s.cells, natives: &s.natives, limits: &s.limits, overlooked: &s.overlooked,
	}
}

// connectIntake gives the intake the parts that it uses.
func (s *Session) connectIntake() {
	s.intake = intake{
		log: s.log, options: &s.options, fs: s.fs,
		queue: &s.queue, targets: &s.targets, examiner: &s.examiner, placer: &s.placer, end: &s.end,
		allowance: &s.allowance, budget: &s.budget, counters: &s.counters, cells: &s.cells, codes: &s.codes,
		natives: &s.natives, devices: &s.devices, limits: &s.limits, watches: &s.watches, overlooked: &s.overlooked,
		live: &s.live, lines: &s.lines,
	}
}

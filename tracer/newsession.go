package tracer

import (
	"context"
	"log/slog"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
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
	s.interpreters.fs, s.analyses.fs = s.fs, s.fs
	s.watches.FS, s.watches.Now = s.fs, now
	s.interpreters.analyses, s.ahead.analyses = &s.analyses, &s.analyses
	s.limits = limits{fs: s.fs, size: o.Limit, may: o.MayLimit, report: &s.certificate}
	s.targets = targets{fs: s.fs, options: &s.options}
	s.natives = natives{fs: s.fs, log: s.log, target: s.targets.find, room: elffile.Room{Bytes: maxNativeBytes}}
	s.devices = devices{fs: s.fs, log: s.log, report: &s.certificate}
	s.codes.report = &s.certificate
	s.lines.Serve(s.fs.Helper, s.log, o.Companion, o.Messenger)
	s.glances.every = o.Glances
	s.searches.log, s.searches.report = s.log, &s.certificate
	s.budget.report, s.budget.searches = &s.certificate, &s.searches
	s.queue.naming = &s.natives.naming
	s.placer.certificate, s.placer.natives = &s.certificate, &s.natives
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
		certificate: &s.certificate, log: s.log, options: &s.options, fs: s.fs,
		host: host{
			&targetFiles{&s.certificate, s.fs}, &s.placer, &s.certificate, &s.devices,
			&s.budget, &s.budget.prices, &s.targets,
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

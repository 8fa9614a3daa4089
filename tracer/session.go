package tracer

import (
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
	certificate tracee.Certificate
	log         *slog.Logger
	options     Options
	fs          process.FS
	ledger      *tracee.KernelHalf
	starts      []event.ProcessInfo
	end         windup

	// Looks are for the goroutine of the session's methods.
	Looks Looks

	// Births are the Pythons that processes execute, for any goroutine; nil unless the session goes on without targets.
	Births *ledger.Births

	targets  tracee.List
	queue    eventQueue
	intake   intake
	examiner examiner
	placer   instruments.Placer

	budget       budget.Budget
	counters     counters
	searches     budget.Searches
	interpreters instruments.Interpreters
	ahead        instruments.ModulesAhead
	analyses     instruments.Analyses
	cells        running.Cells
	codes        running.Codes
	natives      running.Natives
	devices      gpus.Devices
	limits       limits
	watches      tracee.Watches
	overlooked   overlooked
	live         lastlook.Live
	lines        lineMaker
	glances      glances
	garbage      garbage
	allowance    allowance
	joining      joining
}

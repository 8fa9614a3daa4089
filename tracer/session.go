package tracer

import (
	"log/slog"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/endings"
	"ipytracer/tracer/internal/lines"
)

// Session is a running trace: it attaches, takes in the records of the kernel half, and emits events in their order.
// Its methods are for one goroutine.
type Session struct {
	certificate
	log     *slog.Logger
	options Options
	fs      process.FS
	ledger  *kernelHalf
	starts  []event.ProcessInfo
	end     windup

	// Looks are for the goroutine of the session's methods.
	Looks Looks

	// Births are the Pythons that processes execute, for any goroutine; nil unless the session goes on without targets.
	Births *ledger.Births

	targets  targets
	queue    eventQueue
	intake   intake
	examiner examiner
	placer   placer

	budget       budget
	counters     counters
	searches     searches
	interpreters interpreters
	ahead        modulesAhead
	analyses     analyses
	cells        cells
	codes        codes
	natives      natives
	devices      devices
	limits       limits
	watches      endings.Watches
	overlooked   overlooked
	live         live
	lines        lines.Maker
	glances      glances
	garbage      garbage
	allowance    allowance
	joining      joining
}

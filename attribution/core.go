package attribution

import (
	"ipytracer/attribution/archive"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// core is the common part of a [Tracker] and an [Auditor]: it takes in events, cuts the time into windows and records
// the values of the meters in each.
type core struct {
	session    *session
	limits     *limits
	gpus       *gpus
	processes  *processes
	stacks     *stacks.Table
	texts      *texts
	archive    *archive.Archive
	table      *windowTable
	files      *cellFiles
	closed     *closedWindows
	invariants *invariants
	windows    *windows
	problems   *problems
	stepDowns  *stepDowns
	activity   *activity
	shellCheck *shellCheck
	requests   *requests
	queue      *blockQueue
	symbolizer *symbolizer
	namespaces *namespaces
	lent       *lent
	figurer    *figurer
	presenter  *presenter
	intake     *intake
}

// newCore returns a core without a ledger.
func newCore() *core {
	c := &core{
		session: &session{}, limits: &limits{open: maxOpen, processes: maxProcesses}, gpus: newGPUs(),
		stacks: stacks.NewTable(), archive: &archive.Archive{},
		invariants: &invariants{}, problems: &problems{}, stepDowns: &stepDowns{}, lent: &lent{},
	}
	c.texts, c.processes = newTexts(c.limits), newProcesses(c.session, c.limits)
	c.table = newWindowTable(c.session, c.processes, c.stacks, c.archive)
	c.files = &cellFiles{stacks: c.stacks, byName: map[fileKey][]*window{}}
	c.closed = &closedWindows{table: c.table, processes: c.processes, cells: map[uint64]*window{}}
	c.windows = &windows{
		session: c.session, limits: c.limits, processes: c.processes, table: c.table, closed: c.closed,
		invariants: c.invariants,
	}
	c.activity = &activity{
		limits: c.limits, processes: c.processes, table: c.table, closed: c.closed, windows: c.windows, texts: c.texts,
		files: c.files, problems: c.problems, invariants: c.invariants, cells: map[uint64]*window{},
	}
	c.shellCheck = &shellCheck{
		processes: c.processes, table: c.table, texts: c.texts, problems: c.problems, stepDowns: c.stepDowns,
		activity: c.activity,
	}
	c.requests = &requests{processes: c.processes, closed: c.closed}
	c.queue = &blockQueue{limits: c.limits, processes: c.processes, waiting: map[uint32]map[uint64][]event.Change{}}
	c.symbolizer = &symbolizer{stacks: c.stacks, files: c.files, processes: c.processes}
	c.namespaces = &namespaces{
		session: c.session, limits: c.limits, processes: c.processes, table: c.table, stacks: c.stacks, files: c.files,
		symbolizer: c.symbolizer,
	}
	c.figurer = &figurer{session: c.session, gpus: c.gpus, lent: c.lent}
	c.presenter = &presenter{
		session: c.session, gpus: c.gpus, processes: c.processes, stacks: c.stacks, table: c.table, texts: c.texts,
		symbolizer: c.symbolizer, figurer: c.figurer, enders: enders{c.processes, c.namespaces},
	}
	c.intake = &intake{
		session: c.session, limits: c.limits, gpus: c.gpus, processes: c.processes, stacks: c.stacks, table: c.table,
		closed: c.closed, windows: c.windows, activity: c.activity, shellCheck: c.shellCheck, stepDowns: c.stepDowns,
		requests: c.requests, queue: c.queue, namespaces: c.namespaces, invariants: c.invariants,
	}
	return c
}

// follow connects a ledger and a chart to the events taken in.
func (c *core) follow(l ledger, of chart) {
	c.closed.ledger, c.windows.ledger, c.activity.ledger = l, l, l
	c.queue.ledger, c.namespaces.ledger, c.intake.ledger = l, l, l
	c.intake.chart = of
}

// finished returns the cells that closed since the last call.
func (c *core) finished() []model.Window {
	var out []model.Window
	for _, w := range c.activity.takeDone() {
		out = append(out, c.presenter.window(c.table.whole(w)))
	}
	return out
}

package attribution

import (
	"slices"
	"strings"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Monitor takes in the events of one attached process, with its children, for as long as it runs, and hands out its
// cells as they close. It keeps nothing of the cells that it has handed out, nor of children that ended before: its
// memory does not grow with the length of a session. It has no timeline, no sources unless [Monitor.KeepSources] asks
// for them, and no stacks unless it is a [NewProfiler].
type Monitor struct {
	core     *core
	marker   event.Boundary // a copy of an experiment's boundary, without the experiment
	profiler *profiler      // nil for a Monitor without stacks
	prefix   string         // experiments whose names begin with prefix are windows; "": none are
}

// NewMonitor returns a Monitor that has seen nothing.
func NewMonitor() *Monitor {
	return &Monitor{core: newCore(monitored(stacks.RoomOfSession), unkept{}, noChart{})}
}

// monitored returns the state of a Monitor's session, with room for stacks.
func monitored(room stacks.Room) *windows.State {
	return windows.NewBounded(windows.Bounds{
		Open: monitorOpen, Processes: windows.MaxListing, Stacks: room, Forgets: true,
	})
}

// Limits of one Monitor, which is one of many.
const (
	monitorOpen  = 1 << 10 // open cells
	monitorNames = 1 << 20 // bytes of names that are kept for cells that have not been handed out
)

// Add takes in the next event of the process's tree. The first event must be the session's *[event.Start]. The caller
// may reuse the memory of a boundary or a change when Add returns. Only the experiments of [Monitor.KeepExperiments]
// become windows. A boundary of another experiment only ends a segment.
func (m *Monitor) Add(e event.Event) {
	if boundary, isBoundary := e.(*event.Boundary); isBoundary && m.ignores(boundary) {
		m.marker = *boundary
		m.marker.Kind, m.marker.Experiment = event.Asked, ""
		e = &m.marker
	}
	m.core.sequence.add(e)
}

// ignores reports whether a boundary begins or ends an experiment that is not to be a window.
func (m *Monitor) ignores(boundary *event.Boundary) bool {
	isExperiment := boundary.Kind == event.ExperimentBegin || boundary.Kind == event.ExperimentEnd
	return isExperiment && (m.prefix == "" || !strings.HasPrefix(boundary.Experiment, m.prefix))
}

// Finished returns the cells that closed since the last call, as [Tracker.Finished] does, and forgets them.
func (m *Monitor) Finished() (done []model.Window) {
	if m.profiler != nil {
		done = m.profiler.finished()
	} else {
		done = m.core.finished()
	}
	if t := m.core.Texts.Recent; t != nil {
		t.Retain(m.core.Table.Running)
	}
	m.core.Processes.Forget()
	if l := m.core.Limits; l.Kept > monitorNames {
		l.Known, l.Kept = nil, 0
	}
	return done
}

// Origin returns the CLOCK_MONOTONIC time from which [model.Window.StartNS] counts, 0 before the first boundary.
func (m *Monitor) Origin() event.Nanoseconds { return m.core.Session.Began }

// Process returns a process with its figures so far and, if it has ended, how. ok is false if the process is not known.
func (m *Monitor) Process(pid int) (out model.Process, ok bool) {
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil || process.Began == 0 {
		return model.Process{}, false
	}
	return m.core.Presenter.Describe(process, 0, nil), true
}

// Has reports whether a process is known.
func (m *Monitor) Has(pid int) bool { return m.core.Processes.ByPID[int32(pid)] != nil }

// Statement returns the statement in which a process ended, with its figures; ok is false for none. Call Statement
// before the next [Monitor.Finished].
func (m *Monitor) Statement(pid int) (out model.Window, ok bool) {
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil || process.Last.Statement == nil || process.Last.Statement.IsOpen {
		return model.Window{}, false
	}
	return m.core.Presenter.Window(process.Last.Statement), true
}

// Tree returns the present values of the meters of a process together with its children, in bytes, by meter.
func (m *Monitor) Tree(pid int) map[string]int64 {
	out := map[string]int64{}
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil {
		return out
	}
	tree := m.core.Processes.Tree(process.Root)
	for _, meter := range m.core.GPUs.Meters {
		if m.core.GPUs.Shows(meter, nil, process.Info.Python != "") {
			out[meter.String()] = int64(tree.Gauges.Value(meter))
		}
	}
	return out
}

// unkept is the keeper of blocks of a [Monitor]: it keeps no blocks, and no windows.
type unkept struct {
	activity.Untallied
	activity.Unfollowed
}

func (unkept) Takes(*event.Change) bool                          { return false }
func (unkept) Move(*windows.Tree, *event.Change)                 {}
func (unkept) HeldBy(*event.Holders)                             {}
func (unkept) Forget(uint32, func(event.Meter) bool)             {}
func (unkept) BlockAt(int32, event.Meter, uint64) (uint64, bool) { return 0, false }
func (unkept) RangeAt(int32, uint64) (uint64, bool)              { return 0, false }
func (unkept) DividersAt(*event.Refusal) []windows.Divider       { return nil }
func (unkept) IsWhole() bool                                     { return true }
func (unkept) Boundary(*windows.Process, *event.Boundary)        {}
func (unkept) Ended(int32)                                       {}
func (unkept) Keeps(windows.WindowKind) bool                     { return false }

// KeepSources adds their sources to the cells that are handed out from now on: at most most bytes of each source, and
// all bytes of the sources of all cells that wait. A source without room is left out.
func (m *Monitor) KeepSources(most, all int) {
	m.core.Texts.Recent = &windows.RecentTexts{Most: most, All: all, By: map[uint32]string{}}
}

// KeepExperiments makes experiments whose names begin with prefix windows, from now on.
func (m *Monitor) KeepExperiments(prefix string) {
	m.prefix = prefix
	m.core.activity.KeepExperiments()
}

// Experiments returns the experiments of all processes that closed since the last call, in the order of closing, and
// forgets them. lost counts, by pid, later experiments that found no room. Call Experiments before [Monitor.Finished].
func (m *Monitor) Experiments() (done []model.Window, lost map[int32]int) {
	closed, lost := m.core.activity.TakeExperiments()
	for _, w := range closed {
		done = append(done, m.core.Presenter.Window(m.core.Table.Whole(w)))
	}
	return done, lost
}

// RunningExperiments returns the open experiments of a process, oldest first, at most the newest maxRunning. Their
// figures reach to the last boundary.
func (m *Monitor) RunningExperiments(pid int) (all []model.Window) {
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil {
		return nil
	}
	var open []*windows.Window
	for _, named := range process.Experiments.ByName {
		open = append(open, named...)
	}
	slices.SortFunc(open, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range open[max(0, len(open)-maxRunning):] {
		all = append(all, m.core.Presenter.Window(m.core.Table.Whole(w)))
	}
	return all
}

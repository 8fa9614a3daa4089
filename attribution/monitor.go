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
	marker   event.Boundary // an experiment's, as it is taken in
	profiler *profiler      // nil without stacks
	prefix   string         // of the experiments that are windows; "" for none
}

// NewMonitor returns a Monitor that has seen nothing.
func NewMonitor() *Monitor {
	return &Monitor{core: newCore(monitored(stacks.RoomOfSession), unkept{}, noChart{})}
}

// monitored returns the state of a session that is monitored.
func monitored(room stacks.Room) *windows.State {
	return windows.NewBounded(windows.Bounds{
		Open: monitorOpen, Processes: windows.MaxListing, Stacks: room, Forgets: true,
	})
}

// A kernel must not make its Monitor large, which is one of many: these bound its open cells, and the bytes of names
// that are kept for cells that have not been handed out.
const (
	monitorOpen  = 1 << 10
	monitorNames = 1 << 20
)

// Add takes in the next event of the process's tree; the first one is the session's *[event.Start]. The caller may
// reuse the memory of a boundary or a change when Add returns. Experiments are no windows here, but those of
// [Monitor.KeepExperiments]: the boundaries of the others only have figures.
func (m *Monitor) Add(e event.Event) {
	if boundary, is := e.(*event.Boundary); is && (boundary.Kind == event.ExperimentBegin ||
		boundary.Kind == event.ExperimentEnd) &&
		(m.prefix == "" || !strings.HasPrefix(boundary.Experiment, m.prefix)) {
		m.marker = *boundary
		m.marker.Kind, m.marker.Experiment = event.Asked, ""
		e = &m.marker
	}
	m.core.sequence.add(e)
}

// Finished returns the cells that closed since the last call, as [Tracker.Finished] does. They are forgotten.
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

// Origin returns the time that [model.Window.StartNS] counts from: of CLOCK_MONOTONIC, 0 before the first boundary.
func (m *Monitor) Origin() event.Nanoseconds { return m.core.Session.Began }

// Process returns a process, with its figures so far, and how it has ended. ok is false if it is not known.
func (m *Monitor) Process(pid int) (out model.Process, ok bool) {
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil || process.Began == 0 {
		return model.Process{}, false
	}
	return m.core.Presenter.Describe(process, 0, nil), true
}

// Has reports whether a process is known.
func (m *Monitor) Has(pid int) bool { return m.core.Processes.ByPID[int32(pid)] != nil }

// Statement returns the statement in which a process has ended, with its figures; ok is false for none. Call it before
// the next [Monitor.Finished].
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

// KeepSources has the cells that are handed out from now on have their sources: at most so many bytes of each, and of
// all that wait. A source without room is left out.
func (m *Monitor) KeepSources(most, all int) {
	m.core.Texts.Recent = &windows.RecentTexts{Most: most, All: all, By: map[uint32]string{}}
}

// KeepExperiments has experiments with names that begin with a prefix be windows from now on.
func (m *Monitor) KeepExperiments(prefix string) {
	m.prefix = prefix
	m.core.activity.KeepExperiments()
}

// Experiments returns the experiments of all processes that closed since the last call, in the order in which they
// closed, and forgets them. lost counts by process the later ones that found no room. Call it before
// [Monitor.Finished].
func (m *Monitor) Experiments() (done []model.Window, lost map[int32]int) {
	closed, lost := m.core.activity.TakeExperiments()
	for _, w := range closed {
		done = append(done, m.core.Presenter.Window(m.core.Table.Whole(w)))
	}
	return done, lost
}

// RunningExperiments returns the open experiments of a process, at most the hundred newest, the one that opened first
// in front. Their figures reach to the last boundary.
func (m *Monitor) RunningExperiments(pid int) (all []model.Window) {
	process := m.core.Processes.ByPID[int32(pid)]
	if process == nil {
		return nil
	}
	var open []*windows.Window
	for _, of := range process.Experiments.ByName {
		open = append(open, of...)
	}
	slices.SortFunc(open, func(a, b *windows.Window) int { return a.ID - b.ID })
	for _, w := range open[max(0, len(open)-maxRunning):] {
		all = append(all, m.core.Presenter.Window(m.core.Table.Whole(w)))
	}
	return all
}

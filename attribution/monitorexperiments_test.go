package attribution

import (
	"fmt"
	"testing"

	"ipytracer/attribution/internal/activity"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// TestMonitorExperiments: after any events, a Monitor hands out the same experiments as a Tracker, byte for byte but
// for their ids, and the same ones are open.
func TestMonitorExperiments(t *testing.T) {
	t.Parallel()
	ended, running := 0, 0
	for seed := range attributiontest.Seeds(20) {
		tracker, monitor := New(), NewMonitor()
		monitor.KeepExperiments("e")
		n, steps := 0, 0
		bare := func(all []model.Window) []model.Window {
			var out []model.Window
			for _, w := range all {
				if w.Kind == model.Experiment {
					w.ID, w.Parent = 0, 0
					out = append(out, w)
				}
			}
			return out
		}
		compare := func() {
			want, _ := tracker.ExperimentsAfter(int(attributiontest.Kernel), n, 1<<20)
			got, lost := monitor.Experiments()
			tracker.Finished()
			monitor.Finished()
			n += len(want)
			ended += len(want)
			expectSame(t, seed, "experiments", bare(want), bare(got))
			if len(lost) != 0 {
				t.Errorf("seed %d: lost %v", seed, lost)
			}
			if steps%70 != 0 {
				return
			}
			open := bare(tracker.Running(int(attributiontest.Kernel)))
			running += len(open)
			expectSame(t, seed, "running", open, bare(monitor.RunningExperiments(int(attributiontest.Kernel))))
		}
		over := false
		attributiontest.Anything(func(e event.Event) {
			if b, is := e.(*event.Boundary); is && b.PID == attributiontest.Kernel &&
				(b.Kind == event.ProcessExit || b.Kind == event.ProcessExec || b.Kind == event.Detached) {
				over = true // its open experiments end without an end marker, and are not counted
			}
			tracker.Add(e)
			monitor.Add(e)
			if steps++; steps%7 == 0 && !over {
				compare()
			}
		}, seed, 800)
	}
	if ended < attributiontest.Many(40, 150) || running < attributiontest.Many(125, 500) {
		t.Errorf("%d experiments ended, %d ran: this test shows nothing", ended, running)
	}
}

// TestMonitorKeepsFew: experiments with another prefix are no windows. A process that ends more than a Monitor keeps
// loses the later ones, which are counted, and those that a process leaves open are handed out as incomplete.
func TestMonitorKeepsFew(t *testing.T) {
	monitor := NewMonitor()
	monitor.KeepExperiments("dask:")
	s := attributiontest.New(monitor.Add, 1)
	for i := range activity.MaxUnfetched + 7 {
		for _, name := range []string{fmt.Sprintf("dask:%d", i), "mine"} {
			s.Mark(event.ExperimentBegin, name)
			s.Mark(event.ExperimentEnd, name)
		}
	}
	done, lost := monitor.Experiments()
	monitor.Finished()
	if len(done) != activity.MaxUnfetched || done[0].Name != "dask:0" || len(lost) != 1 ||
		lost[attributiontest.Kernel] != 7 {
		t.Errorf("%d kept, lost %v", len(done), lost)
	}
	for i := range monitorOpen + 9 {
		s.Mark(event.ExperimentBegin, fmt.Sprintf("dask:open %d", i))
	}
	if open := monitor.RunningExperiments(int(attributiontest.Kernel)); len(open) != maxRunning {
		t.Errorf("%d are running", len(open))
	}
	s.Exit(attributiontest.Kernel)
	monitor.Add(&event.Lull{})
	done, lost = monitor.Experiments()
	if len(done) < monitorOpen-9 || len(done) > monitorOpen || done[0].Status != model.Incomplete || len(lost) != 0 {
		t.Errorf("%d were open, lost %v", len(done), lost)
	}
}

package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"
)

// Ids that Python has computed.
const (
	pythonsTrace = "30d46f36efd64f3403543b630f5f07f9"
	pythonsSpan  = "9b0cf8547e575b32"
)

// worker is a root with the process that was attached to, and one below it.
const (
	root          = 3
	nanny, worker = 100, 101
)

func keeper(open ...model.Window) *taskKeeper {
	running := func(r uint32, pid int) []model.Window {
		if r == root && pid == worker {
			return open
		}
		return nil
	}
	account := func(uint32) string { return "" }
	k := newTaskKeeper(taskOptions{Version: "test", Account: account, Running: running})
	k.Follow(root, nanny)
	k.Note(&event.Boundary{Kind: event.ProcessStart, Root: root, PID: worker, Parent: nanny}, nanny)
	return k
}

func (k *taskKeeper) begins(name string, at event.Nanoseconds) {
	k.Note(&event.Boundary{Kind: event.ExperimentBegin, Root: root, PID: worker, Experiment: name, Time: at}, nanny)
}

func ran(name string, start int64) model.Window {
	return model.Window{Kind: model.Experiment, PID: worker, Name: name, StartNS: start, Status: model.OK}
}

// TestParentIsTheContextMarkedLast: a task has the context that was marked last before its begin, also if another one
// was marked since. What is no context ends the one before.
func TestParentIsTheContextMarkedLast(t *testing.T) {
	k := keeper()
	other := strings.Replace(parent, "b7", "b8", 1)
	k.begins("dask:early In[1]", 1010)
	k.begins("dask:from@got:"+parent, 1020)
	k.begins("dask:long In[1]", 1030)
	k.begins("dask:from@got:"+other, 1040)
	k.begins("dask:short In[1]", 1050)
	k.begins("dask:from@got:none", 1060)
	k.begins("dask:alone", 1070)
	tasks := k.Ended(root, []model.Window{ran("dask:short In[1]", 50), ran("dask:from@got:none", 60),
		ran("dask:between tasks", 5), ran("dask:long In[1]", 30), ran("dask:alone", 70), ran("dask:early In[1]", 10),
		ran("dask:long In[1]", 30)}, nil, 1000)
	first, _ := parseContext(parent)
	second, _ := parseContext(other)
	want := []telemetry.TraceContext{second, first, {}, {}, {}} // the last one is no task that began
	if len(tasks) != len(want) {
		t.Fatalf("%d tasks: %+v", len(tasks), tasks)
	}
	for i, task := range tasks {
		if task.Parent != want[i] {
			t.Errorf("%s: parent %x, want %x", task.Window.Name, task.Parent, want[i])
		}
	}
	if len(k.processes[worker].running) != 0 {
		t.Errorf("%d are kept", len(k.processes[worker].running))
	}
}

// TestSubmittingCellHasTheMarkersIds: the cell in which a notebook's marker lies has its ids, and no cell after it.
func TestSubmittingCellHasTheMarkersIds(t *testing.T) {
	k := keeper()
	key := strings.Repeat("5e", 16)
	for n := 1; n <= 40; n++ {
		c := contextOf(key, fmt.Sprint(n))
		k.begins(fmt.Sprintf("dask:submit %s.%d@sent:00-%x-%x-01", key, n, c.TraceID, c.SpanID),
			event.Nanoseconds(100*n))
	}
	if c := k.Submitted(worker, 150, 350); c != contextOf(key, "2") {
		t.Errorf("%x", c)
	}
	for _, c := range []telemetry.TraceContext{k.Submitted(worker, 150, 350), k.Submitted(worker, 100, 399),
		k.Submitted(worker, 100*maxSubmissions+1, 1<<40), k.Submitted(7, 0, 1<<40)} {
		if c != (telemetry.TraceContext{}) {
			t.Errorf("%x", c)
		}
	}
}

// TestEndlessTasks: endless tasks, of prefixes that differ, that nobody ever asks for, and that never end, leave a
// bounded number of windows and names; what was lost is counted to the process that asks.
func TestEndlessTasks(t *testing.T) {
	k := keeper()
	k.begins("dask:from@got:"+parent, 1)
	for i := range 3 * maxRunning {
		name := fmt.Sprintf("dask:task%d In[1]", i)
		k.begins(name, event.Nanoseconds(i))
		k.Ended(root, []model.Window{ran(name, int64(i))}, nil, 0)
		k.begins("dask:never "+name, event.Nanoseconds(i))
	}
	p := k.processes[worker]
	if len(p.kept) != maxOfProcess || len(p.running) > maxRunning {
		t.Errorf("%d windows and %d begins are kept", len(p.kept), len(p.running))
	}
	all, lost := k.ExperimentsAfter(worker, 0, 200)
	if all[0].Children == nil {
		t.Error("its children are no list in JSON")
	}
	if len(all) != 200 || lost != 3*maxRunning-maxOfProcess || all[0].Name != fmt.Sprintf("dask:task%d In[1]", lost) {
		t.Errorf("%d windows, %d lost", len(all), lost)
	}
	k.Ended(root, []model.Window{ran("dask:x", 1)}, map[int32]int{worker: 9}, 0)
	if all, lost := k.ExperimentsAfter(worker, 3*maxRunning, 200); len(all) != 0 || lost != 10 {
		t.Errorf("%d windows, %d lost", len(all), lost)
	}
	for _, odd := range []int{-5, 1 << 40} {
		k.ExperimentsAfter(worker, odd, 1)
	}
}

// TestManyProcesses: the windows and the processes of all workers together are bounded, and one that has ended is
// forgotten once its last tasks were handed on.
func TestManyProcesses(t *testing.T) {
	k := keeper()
	for pid := int32(1000); pid < 1000+maxProcesses+50; pid++ {
		k.Note(&event.Boundary{Kind: event.ProcessStart, Root: root, PID: pid}, nanny)
		k.Note(&event.Boundary{Kind: event.ExperimentBegin, Root: root, PID: pid, Experiment: "dask:a"}, nanny)
		for range 30 {
			w := ran("dask:a", 1)
			w.PID = int(pid)
			k.Ended(root, []model.Window{w}, nil, 0)
		}
	}
	n := 0
	for _, p := range k.processes {
		n += len(p.kept)
	}
	if len(k.processes) > maxProcesses || len(k.accepted) > maxProcesses || n > maxOfAll {
		t.Errorf("%d processes, %d with a line, %d windows", len(k.processes), len(k.accepted), n)
	}
	k.Note(&event.Boundary{Kind: event.ProcessExit, Root: root, PID: 1000}, nanny)
	if k.processes[1000] == nil || k.Accepts(1000) {
		t.Error("its last tasks have no parents, or it has a line")
	}
	k.Answer()
	if k.processes[1000] != nil {
		t.Error("a process that has ended is kept")
	}
	k.Leave(root)
	if len(k.processes) != 0 || len(k.accepted) > 0 {
		t.Errorf("%d processes of a root that has ended", len(k.processes))
	}
}

// TestProcessesAreShared: an account that has taken all the room for processes and windows gives it up to another one.
func TestProcessesAreShared(t *testing.T) {
	const others = 4
	k := newTaskKeeper(taskOptions{Account: func(r uint32) string { return fmt.Sprint("user ", r) }})
	k.Follow(root, nanny)
	k.Follow(others, 50)
	runs := func(r uint32, pid int32, windows int) {
		k.Note(&event.Boundary{Kind: event.ProcessStart, Root: r, PID: pid}, nanny)
		k.Note(&event.Boundary{Kind: event.ExperimentBegin, Root: r, PID: pid, Experiment: "dask:a"}, nanny)
		w := ran("dask:a", 1)
		w.PID = int(pid)
		k.Ended(r, slices.Repeat([]model.Window{w}, windows), nil, 0)
	}
	for pid := int32(1000); pid < 1000+2*maxProcesses; pid++ {
		runs(root, pid, 30)
	}
	for pid := int32(60); pid < 70; pid++ {
		runs(others, pid, maxOfProcess/4)
	}
	for pid := 60; pid < 70; pid++ {
		all, lost := k.ExperimentsAfter(pid, 0, maxOfProcess)
		if !k.Accepts(pid) || k.accountOf(pid) != "user 4" || len(all) != maxOfProcess/4 || lost != 0 {
			t.Errorf("process %d of another user: a line: %v, %d windows, %d lost", pid, k.Accepts(pid), len(all), lost)
		}
	}
	if len(k.processes) > maxProcesses || len(k.accepted) > maxProcesses {
		t.Errorf("%d processes, %d with a line", len(k.processes), len(k.accepted))
	}
}

// TestWhoHasALine: processes of workers have one, and those below a kernel once they run a task. A kernel has none: no
// figures of its cells are kept.
func TestWhoHasALine(t *testing.T) {
	k := keeper(ran("dask:now", 5))
	const kernel, child, other = 200, 201, 202
	for _, pid := range []int32{kernel, child, other} {
		k.Note(&event.Boundary{Kind: event.ProcessStart, Root: 4, PID: pid}, kernel)
	}
	for _, pid := range []int32{kernel, child} {
		k.Note(&event.Boundary{Kind: event.ExperimentBegin, Root: 4, PID: pid, Experiment: "dask:a"}, kernel)
	}
	k.Note(&event.Boundary{Kind: event.ExperimentBegin, Root: 4, PID: other, Experiment: "mine"}, kernel)
	for pid, want := range map[int]bool{nanny: true, worker: true, kernel: false, child: true, other: false, 7: false} {
		if k.Accepts(pid) != want {
			t.Errorf("%d: %v", pid, !want)
		}
	}
	k.begins("dask:now", 5)
	if open := k.Running(worker); len(open) != 1 {
		t.Errorf("running: %v", open)
	}
	if open := k.Running(child); len(open) != 0 {
		t.Errorf("of another one: %v", open)
	}
}

func TestTasksConfig(t *testing.T) {
	for n, good := range map[int]bool{0: false, 1: true, 64: true, 65: false, -1: false} {
		c := TasksConfig{PerUser: n}
		if field, err := c.Check(); (err == nil) != good || !good && field != "per_user" {
			t.Errorf("%d: %s, %v", n, field, err)
		}
	}
}

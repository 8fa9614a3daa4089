package agent

import (
	"fmt"
	"testing"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/model"
)

// TestWorkersRoom: workers of Dask count apart from a user's kernels, and leave a quarter of all numbers free.
func TestWorkersRoom(t *testing.T) {
	c := DefaultConfig()
	all := newArrivals()
	room := func(p *inventory.Python, of holder) bool {
		one := arrival{Python: *p, facts: facts{account: of.account}}
		return one.holder() == of && of.mayTake(all.countSlots(of), &c)
	}
	claims := &inventory.Python{UID: 1000, Python: "3.11.2", Worker: true}
	kernel := &inventory.Python{UID: 1000, Python: "3.11.2", IPython: "9.0", Worker: true} // of dask worker's name
	at := func(n int) account { return account{group: fmt.Sprint("user ", n)} }
	worker, own := holder{at(1000), true}, holder{account: at(1000)}
	for n := range c.Dask.PerUser {
		if !room(claims, worker) {
			t.Errorf("no room after %d", n)
		}
		all.takeSlot(uint32(n), worker)
	}
	if room(claims, worker) || !room(kernel, own) {
		t.Error("a user has more than per_user, or no kernel")
	}
	for n := c.Dask.PerUser; n < c.Kernels*3/4; n++ {
		all.takeSlot(uint32(n), holder{at(2000 + n), true})
	}
	if other := (holder{at(1001), true}); room(&inventory.Python{UID: 1001, Worker: true}, other) {
		t.Error("workers take the last quarter")
	}
	if first := (holder{account: at(1002)}); room(kernel, own) || !room(kernel, first) {
		t.Error("the last quarter is not for those who have none")
	}
	if isWanted(&inventory.Python{Worker: true}) || isWanted(&inventory.Python{Python: "3.11.2"}) {
		t.Error("an unfinished Python, or one that is no worker, is followed")
	}
}

// TestTasksWait: tasks of a worker with a pod that has no name yet are kept, and no more than some; then they count
// under its name.
func TestTasksWait(t *testing.T) {
	c := DefaultConfig()
	sink := &taken{}
	s := newSimulation(c, time.Now, sink)
	k := &kernel{Kernel: &telemetry.Kernel{Worker: true, Joined: time.Now()}, monitor: attribution.NewMonitor()}
	k.tasks = make([]telemetry.Task, 1)
	s.agent.deliver(k, nil, false)
	if len(sink.tasks) != 0 || len(k.tasks) != 1 {
		t.Errorf("%d tasks are handed on, %d kept", len(sink.tasks), len(k.tasks))
	}
	k.tasks = make([]telemetry.Task, maxHeldTasks)
	for i := range k.tasks {
		k.tasks[i].Window = &model.Window{Status: model.OK}
	}
	k.Owner.Pod = "named"
	s.agent.deliver(k, nil, false)
	if len(sink.tasks) != maxHeldTasks || len(k.tasks) != 0 || sink.tasks[0].Kernel.Pod != "named" {
		t.Errorf("%d tasks are handed on, %d kept", len(sink.tasks), len(k.tasks))
	}
	shown := shownText(t, s.agent.metrics, "ipytracer_tasks_total")
	want := `ipytracer_tasks_total{container="",namespace="",outcome="ok",pod="named",user=""} 256`
	if shown != want+"\n" {
		t.Errorf("%q", shown)
	}
}

package agent

import (
	"maps"
	"strings"
	"sync"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/internal/companion"
	"ipytracer/model"
)

// taskOptions are what a [taskKeeper] needs.
type taskOptions struct {
	Version string
	// Running returns the open experiments of a process in the tree with a root.
	Running func(root uint32, pid int) []model.Window
	// Account returns the account of a root.
	Account func(root uint32) string
}

// taskKeeper keeps the experiments of workers until the workers have asked for them, and answers over the workers'
// links. It is a [tracer.Companion]. It is also the [companion.Windows] of its links: it has the figures of
// experiments. Any goroutine may call the methods of the first interface; the others are for one goroutine.
type taskKeeper struct {
	options   taskOptions
	hub       *companion.Hub
	workers   map[uint32]int // roots that are workers: their processes
	processes map[int]*workerProcess

	mu       sync.Mutex
	accepted map[int]owned // processes that get a link
}

// owned is the root and the account of a process.
type owned struct {
	root    uint32
	account string
}

func (o owned) of() string { return o.account }

// workerProcess is a process that runs tasks, or submits them.
type workerProcess struct {
	owned
	over bool // it has ended, and its last experiments may not have been handed on
	contexts
	ended
}

// maxProcesses is the most processes that are known. Other processes have no contexts and no link.
const maxProcesses = 1 << 10

// newTaskKeeper returns a keeper without processes.
func newTaskKeeper(o taskOptions) *taskKeeper {
	k := &taskKeeper{options: o, workers: map[uint32]int{}, processes: map[int]*workerProcess{},
		accepted: map[int]owned{}}
	k.hub = companion.New(companion.Options{
		Version: o.Version, NoSource: true, Who: func([]model.Frame) string { return "" }, Account: k.accountOf,
	}, k)
	return k
}

// Follow begins to follow a worker, with the processes that it has started.
func (k *taskKeeper) Follow(root uint32, pid int) {
	k.workers[root] = pid
	k.accept(pid, root)
}

// Leave forgets a root, with all its processes.
func (k *taskKeeper) Leave(root uint32) {
	delete(k.workers, root)
	for pid, p := range k.processes {
		if p.root == root {
			delete(k.processes, pid)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.accepted, func(_ int, of owned) bool { return of.root == root })
}

// Accepts implements [tracer.Companion]. Processes of workers have a link. Processes below a kernel have one if they
// have run a task. Other notebooks have none, because this agent keeps no cells of theirs.
func (k *taskKeeper) Accepts(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, is := k.accepted[pid]
	return is
}

// Connected implements [tracer.Companion].
func (k *taskKeeper) Connected(pid, end int, live bool) { k.hub.Connected(pid, end, live) }

// Announces implements [tracer.Companion].
func (k *taskKeeper) Announces() string { return k.hub.Announces() }

// accountOf returns the account that is charged for the links of a process.
func (k *taskKeeper) accountOf(pid int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.accepted[pid].account
}

func (k *taskKeeper) accept(pid int, root uint32) {
	of := k.ownerOf(root)
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, is := k.accepted[pid]; is || hasRoom(k.accepted, of.account) {
		k.accepted[pid] = of
	}
}

// ownerOf returns a root with its account.
func (k *taskKeeper) ownerOf(root uint32) owned {
	return owned{root, k.options.Account(root)}
}

func (k *taskKeeper) forget(pid int) {
	delete(k.processes, pid)
	k.refuse(pid)
}

func (k *taskKeeper) refuse(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.accepted, pid)
}

// Note takes in an event. kernel is the process that was attached to in the tree of the event.
func (k *taskKeeper) Note(e event.Event, kernel int) {
	k.hub.Note(e)
	b, is := e.(*event.Boundary)
	if !is {
		return
	}
	pid := int(b.PID)
	_, ofWorker := k.workers[b.Root]
	switch b.Kind {
	case event.ProcessStart, event.ProcessExec:
		k.forget(pid)
		if ofWorker {
			k.accept(pid, b.Root)
		}
	case event.ProcessExit:
		if p := k.processes[pid]; p != nil {
			p.over = true
		}
		k.refuse(pid)
	case event.ExperimentBegin:
		if !strings.HasPrefix(b.Experiment, Prefix) {
			return
		}
		if p := k.process(pid, b.Root); p != nil {
			p.begin(b.Experiment, b.Time)
		}
		if ofWorker || pid != kernel {
			k.accept(pid, b.Root)
		}
	}
}

// process returns a process that runs tasks or submits them, nil where there is no room for one more.
func (k *taskKeeper) process(pid int, root uint32) *workerProcess {
	p := k.processes[pid]
	if p != nil {
		return p
	}
	if of := k.ownerOf(root); hasRoom(k.processes, of.account) {
		p = &workerProcess{owned: of}
		k.processes[pid] = p
	}
	return p
}

// Submitted returns the context that a cell gave to the tasks that it submitted. It returns zero for a cell that
// submitted none.
func (k *taskKeeper) Submitted(pid int, began, ended event.Nanoseconds) telemetry.TraceContext {
	if p := k.processes[pid]; p != nil {
		return p.submitted(began, ended)
	}
	return telemetry.TraceContext{}
}

// Ended keeps experiments that have ended in a tree until their processes have asked for them. lost counts, by process,
// the experiments for which there was no room. Ended returns the tasks among the experiments. origin is the time that
// [model.Window.StartNS] counts from.
func (k *taskKeeper) Ended(root uint32, all []model.Window, lost map[int32]int, origin event.Nanoseconds) (
	done []telemetry.Task) {
	for i := range all {
		w := &all[i]
		p := k.processes[w.PID]
		if p == nil || p.root != root {
			p = &workerProcess{} // there was no room for it
		}
		p.add(w)
		if prefix, cell, is := parseName(w.Name); is {
			parent := p.take(w.Name, origin+event.Nanoseconds(w.StartNS))
			done = append(done, telemetry.Task{Window: w, Prefix: prefix, Cell: cell, Parent: parent})
		}
	}
	for pid, n := range lost {
		if p := k.processes[int(pid)]; p != nil && p.root == root {
			p.lose(n)
		}
	}
	k.bound()
	return done
}

// Answer answers what processes have asked since the last call. It forgets processes that have ended: everything of
// theirs was handed on.
func (k *taskKeeper) Answer() {
	k.hub.Answer()
	for pid, p := range k.processes {
		if p.over {
			delete(k.processes, pid)
		}
	}
}

// Close ends all links.
func (k *taskKeeper) Close() { k.hub.Close() }

// Running implements [companion.Windows].
func (k *taskKeeper) Running(pid int) []model.Window {
	if p := k.processes[pid]; p != nil {
		return k.options.Running(p.root, pid)
	}
	return nil
}

// ExperimentsAfter implements [companion.Windows].
func (k *taskKeeper) ExperimentsAfter(pid, n, limit int) (all []model.Window, lost int) {
	if p := k.processes[pid]; p != nil {
		return p.after(n, limit)
	}
	return nil, 0
}

// CellsAfter implements [companion.Windows].
func (*taskKeeper) CellsAfter(int, int, int) []model.Window { return nil }

// LastExperiment implements [companion.Windows].
func (*taskKeeper) LastExperiment(int, string) (w model.Window, ok bool) { return w, false }

// Window implements [companion.Windows].
func (*taskKeeper) Window(int) (w model.Window, ok bool) { return w, false }

// TasksConfig is the section of the configuration for workers of Dask. Fields have their YAML names.
type TasksConfig struct {
	// Off: no workers are looked for, and no tasks are windows. It is read at the start only.
	Off bool `yaml:"off"`
	// PerUser is the most processes of `dask worker` of one user that are traced at a time.
	PerUser int `yaml:"per_user"`
}

// defaultTasks returns the section without a file. mostPerUser is the greatest value of PerUser.
func defaultTasks() TasksConfig { return TasksConfig{PerUser: 8} }

const mostPerUser = 64

// Check returns the field that is wrong, and why.
func (c *TasksConfig) Check() (field string, err error) {
	return "per_user", telemetry.InRange(c.PerUser, 1, mostPerUser)
}

// hasRoom reports whether there is room for one more process of an account. Where all room is taken, a process of the
// account with most processes gives way.
func hasRoom[P interface{ of() string }](all map[int]P, account string) bool {
	if len(all) < maxProcesses {
		return true
	}
	has := map[string]int{}
	for _, p := range all {
		has[p.of()]++
	}
	most, ok := companion.GivesWay(has, account)
	if !ok {
		return false
	}
	for pid, p := range all {
		if p.of() == most {
			delete(all, pid)
			return true
		}
	}
	return false
}

// bound drops experiments while there are too many. It takes them from the account with most experiments and there from
// the process with most.
func (k *taskKeeper) bound() {
	n, has := 0, map[string]int{}
	for _, p := range k.processes {
		n += len(p.kept)
		has[p.account] += len(p.kept)
	}
	for n > maxOfAll {
		account, _ := companion.GivesWay(has, "")
		var most *workerProcess
		for _, p := range k.processes {
			if p.account == account && (most == nil || len(p.kept) > len(most.kept)) {
				most = p
			}
		}
		half := (len(most.kept) + 1) / 2
		most.drop(half)
		n, has[account] = n-half, has[account]-half
	}
}

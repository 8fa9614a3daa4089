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
// links. It is the session's [tracer.Companion], whose methods any goroutine may call, and the [companion.Windows] of
// its links. All methods but those of tracer.Companion are for one goroutine.
type taskKeeper struct {
	options   taskOptions
	hub       *companion.Hub
	workers   map[uint32]int         // the process IDs of workers, by root
	processes map[int]*workerProcess // by process ID

	mu       sync.Mutex
	accepted map[int]owned // processes that may have a link, by process ID
}

// owned says whose a process is: the root of its tree, and the account that is charged for it.
type owned struct {
	root    uint32
	account string
}

func (o owned) accountName() string { return o.account }

// workerProcess is a process that runs tasks, or submits them.
type workerProcess struct {
	owned
	hasEnded bool // it has ended, but may not have asked for its last experiments yet
	contexts
	ended
}

// maxProcesses is the most processes that a keeper knows. Other processes have no contexts and no link.
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
	maps.DeleteFunc(k.accepted, func(_ int, owner owned) bool { return owner.root == root })
}

// Accepts implements [tracer.Companion]. Processes of workers have a link. Processes below a kernel have one if they
// have run a task. Other notebooks have none, because this agent keeps no cells of theirs.
func (k *taskKeeper) Accepts(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, accepted := k.accepted[pid]
	return accepted
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

// accept lets a process have a link, if there is room for its account.
func (k *taskKeeper) accept(pid int, root uint32) {
	owner := k.ownerOf(root)
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.accepted[pid]; known || hasRoom(k.accepted, owner.account) {
		k.accepted[pid] = owner
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

// Note takes in an event. kernel is the ID of the process that was attached to in the event's tree.
func (k *taskKeeper) Note(e event.Event, kernel int) {
	k.hub.Note(e)
	b, isBoundary := e.(*event.Boundary)
	if !isBoundary {
		return
	}
	pid := int(b.PID)
	_, ofWorker := k.workers[b.Root]
	switch b.Kind {
	case event.ProcessStart, event.ProcessExec: // a new program, without tasks so far
		k.forget(pid)
		if ofWorker {
			k.accept(pid, b.Root)
		}
	case event.ProcessExit:
		if p := k.processes[pid]; p != nil {
			p.hasEnded = true
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

// process returns the record of a process that runs tasks or submits them. It makes a new one if there is room; else it
// returns nil.
func (k *taskKeeper) process(pid int, root uint32) *workerProcess {
	p := k.processes[pid]
	if p != nil {
		return p
	}
	if owner := k.ownerOf(root); hasRoom(k.processes, owner.account) {
		p = &workerProcess{owned: owner}
		k.processes[pid] = p
	}
	return p
}

// Submitted returns the trace context that a cell gave to the tasks that it submitted; zero if it submitted none.
func (k *taskKeeper) Submitted(pid int, began, ended event.Nanoseconds) telemetry.TraceContext {
	if p := k.processes[pid]; p != nil {
		return p.submitted(began, ended)
	}
	return telemetry.TraceContext{}
}

// Ended keeps experiments that have ended in a tree until their processes have asked for them. lost counts, by process,
// the experiments for which there was no room. Ended returns the tasks among the experiments. origin is the time that
// [model.Window.StartNS] counts from.
func (k *taskKeeper) Ended(root uint32, windows []model.Window, lost map[int32]int, origin event.Nanoseconds) (
	done []telemetry.Task) {
	for i := range windows {
		w := &windows[i]
		p := k.processes[w.PID]
		if p == nil || p.root != root {
			p = &workerProcess{} // there was no room for it: its experiments are counted and then forgotten
		}
		p.addEnded(w)
		if prefix, cell, isTask := parseName(w.Name); isTask {
			parent := p.takeContext(w.Name, origin+event.Nanoseconds(w.StartNS))
			done = append(done, telemetry.Task{Window: w, Prefix: prefix, Cell: cell, Parent: parent})
		}
	}
	for pid, n := range lost {
		if p := k.processes[int(pid)]; p != nil && p.root == root {
			p.addLost(n)
		}
	}
	k.dropSurplus()
	return done
}

// Answer answers what processes have asked since the last call. It forgets processes that have ended: everything of
// theirs was handed on.
func (k *taskKeeper) Answer() {
	k.hub.Answer()
	for pid, p := range k.processes {
		if p.hasEnded {
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
func (k *taskKeeper) ExperimentsAfter(pid, n, limit int) (windows []model.Window, lost int) {
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

// defaultTasks returns the section that is in force without a file.
func defaultTasks() TasksConfig { return TasksConfig{PerUser: 8} }

// mostPerUser is the greatest value of [TasksConfig.PerUser].
const mostPerUser = 64

// Check returns the field that is wrong, and why.
func (c *TasksConfig) Check() (field string, err error) {
	return "per_user", telemetry.InRange(c.PerUser, 1, mostPerUser)
}

// hasRoom reports whether one more process of an account may be added to all. If all is full, hasRoom makes room: it
// removes a process of the account with most processes. It returns false if that is the given account.
func hasRoom[P interface{ accountName() string }](all map[int]P, account string) bool {
	if len(all) < maxProcesses {
		return true
	}
	counts := map[string]int{} // of processes, by account
	for _, p := range all {
		counts[p.accountName()]++
	}
	most, ok := companion.GivesWay(counts, account)
	if !ok {
		return false
	}
	for pid, p := range all {
		if p.accountName() == most {
			delete(all, pid)
			return true
		}
	}
	return false
}

// dropSurplus drops experiments while there are more than maxOfAll. Each time it chooses the account with most
// experiments and its process with most, and drops the older half of that process's.
func (k *taskKeeper) dropSurplus() {
	total, byAccount := 0, map[string]int{}
	for _, p := range k.processes {
		total += len(p.kept)
		byAccount[p.account] += len(p.kept)
	}
	for total > maxOfAll {
		account, _ := companion.GivesWay(byAccount, "")
		var most *workerProcess
		for _, p := range k.processes {
			if p.account == account && (most == nil || len(p.kept) > len(most.kept)) {
				most = p
			}
		}
		half := (len(most.kept) + 1) / 2
		most.dropOldest(half)
		total, byAccount[account] = total-half, byAccount[account]-half
	}
}

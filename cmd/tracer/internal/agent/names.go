package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"ipytracer/cmd/tracer/internal/agent/pods"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"
)

// A kernel in a pod can be traced before Kubernetes has said which pod that is. Its cells are kept until then, so that
// they count under its name, but no longer than patience: after that they count under the pod's UID, and those that
// come later under its name once that is known. A record that a sink has does not change: it is replaced.
const (
	patience = 10 * time.Second
	maxHeld  = 64  // cells of a kernel
	maxEnded = 256 // kernels that have ended
)

// names knows to whom kernels belong.
type names struct {
	pods    finders
	ended   []*kernel // with cells that are kept; under metrics.mu
	stopped bool      // nothing is kept any more; under metrics.mu
}

// finder finds pods, as [pods.Watcher] does.
type finder interface {
	Find(uid, container string) (p pods.Pod, name string, known bool)
}

// finders are asked one after the other. There are none where nobody is asked.
type finders []finder

// Find returns what the first finder that knows the pod and its container says, or else the first that knows the pod.
func (all finders) Find(uid, container string) (p pods.Pod, name string, known bool) {
	for _, one := range all {
		found, of, is := one.Find(uid, container)
		if is && (!known || name == "" && of != "") {
			p, name, known = found, of, true
		}
		if known && (name != "" || container == "") {
			break
		}
	}
	return p, name, known
}

// watchPods begins to watch this node's pods, at Kubernetes' API server and at the container runtime, as the
// configuration has it.
func (a *Agent) watchPods(ctx context.Context) error {
	c := a.options.Config.Kubernetes
	o := pods.Options{
		Wanted:  pods.Wanted{Labels: telemetry.HubLabels, Annotations: telemetry.HubAnnotations},
		Version: a.options.Version, Log: a.log, Open: a.options.Open, Changed: a.rename,
	}
	if err := a.watchServer(ctx, c, o); err != nil {
		return err
	}
	if c.CRI == "" {
		return nil
	}
	r, err := pods.NewRuntime(c.CRI, o)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrKubernetes, err)
	}
	a.names.pods = append(a.names.pods, r)
	a.metrics.registry.MustRegister(r)
	go r.Run(ctx)
	return nil
}

// watchServer begins to watch the pods at the API server.
func (a *Agent) watchServer(ctx context.Context, c pods.Config, o pods.Options) error {
	if !c.Wanted() {
		return nil
	}
	w, err := pods.New(c, o)
	switch {
	case err != nil && c.Enabled == pods.Auto:
		a.log.Warn("pods go by their UIDs, as Kubernetes cannot be asked for their names", "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrKubernetes, err)
	}
	a.names.pods = append(a.names.pods, w)
	a.metrics.registry.MustRegister(w)
	go w.Run(ctx)
	return nil
}

// name gives a kernel a record with the names that are known now, unless it has the very same; settled is false if
// there will be more. The caller holds metrics.mu.
func (a *Agent) name(k *kernel) {
	c := a.config.Load()
	next := *k.Kernel
	k.settled = a.names.fill(&next, &k.facts, c)
	if next.Owner == k.Owner && next.HubServer == k.HubServer && next.OfHub == k.OfHub && next.Claimed == k.Claimed &&
		next.Place == k.Place {
		return
	}
	moved := next.Place != k.Place
	if k.Kernel = &next; moved {
		noteKernel(a, k)
	}
}

// fill fills in the names of a kernel; settled reports whether they are all that there will be.
func (n *names) fill(k *telemetry.Kernel, f *facts, c *Config) (settled bool) {
	k.Owner, k.HubServer, k.OfHub, k.Claimed, k.Place = f.owner, "", false, f.claimed, f.place
	k.Account = f.account.group
	settled = true
	user, server, trusted, namespace := f.unitUser, "", f.unitUser != "", ""
	if f.podUID != "" && len(n.pods) > 0 {
		p, container, known := n.pods.Find(f.podUID, f.containerID)
		settled = known && (container != "" || f.containerID == "")
		if known {
			namespace, k.Namespace, k.Pod = p.Namespace, telemetry.Label(p.Namespace), telemetry.Label(p.Name)
			k.Container = cmp.Or(telemetry.Label(container), k.Container)
			user, server, trusted = telemetry.HubPod(p.Labels, p.Annotations)
		}
	}
	if trusted && f.podUID != "" && !c.Hubs.Match(k.Namespace) {
		k.Claimed.HubUser, k.Claimed.HubServer, trusted = telemetry.Label(user), telemetry.Label(server), false
	}
	if trusted {
		k.User, k.HubServer, k.OfHub = telemetry.Label(user), telemetry.Label(server), true
		if f.podUID != "" && c.Users {
			k.Place = placeOfHub(namespace, user)
			k.Account = k.Place
		}
	}
	if !c.Users {
		withoutUsers(k, f, user)
	}
	return settled
}

// placeOfHub returns the boundary of a user of JupyterHub, whose pods come and go. Users of one name in two namespaces
// are two: who may create pods in one of them could name them after anybody. A namespace has no slash.
func placeOfHub(namespace, user string) string { return "hub:" + namespace + "/" + user }

// boundary returns the boundary of a process: that of JupyterHub's user, where Kubernetes has named one for its pod.
func (a *Agent) boundary(pid int, uid uint32) string {
	group := groupOf(a.fs, pid)
	f := placeOf(group)
	f.place = boundaryOf(group, uid, func() bool { return sharesIDs(pid) })
	var k telemetry.Kernel
	a.names.fill(&k, &f, a.config.Load())
	return k.Place
}

// withoutUsers takes the names of users out of a record, with those that contain one: JupyterHub names pods, and may
// name namespaces, after their users.
func withoutUsers(k *telemetry.Kernel, f *facts, user string) {
	k.User, k.HubServer, k.OfHub = "", "", false
	k.Claimed = telemetry.Claims{KernelID: k.Claimed.KernelID}
	if user == "" {
		return
	}
	k.Pod = f.owner.Pod
	if strings.Contains(k.Namespace, strings.ToLower(user)) {
		k.Namespace = ""
	}
}

// rename gives all kernels the names that are known now, and counts the cells that waited for them.
func (a *Agent) rename() {
	a.metrics.mu.Lock()
	defer a.metrics.mu.Unlock()
	for _, k := range a.kernels {
		a.name(k)
		a.deliver(k, nil, false)
	}
	waiting := a.names.ended
	a.names.ended = nil
	for _, k := range waiting {
		a.name(k)
		a.deliver(k, nil, true)
	}
}

// stopWaiting counts all cells that wait for names.
func (a *Agent) stopWaiting() {
	a.metrics.mu.Lock()
	a.names.stopped = true
	a.metrics.mu.Unlock()
	a.rename()
}

// waits reports whether the cells of a kernel are kept until its names are known. The caller holds metrics.mu.
func (n *names) waits(k *kernel) bool {
	return !k.settled && !n.stopped && len(k.held) < maxHeld && len(k.tasks) < maxHeldTasks &&
		len(n.ended) < maxEnded &&
		time.Since(k.Joined) < patience
}

// deliver counts cells of a kernel, and its end if it is over, and hands them on; or keeps them while the kernel's
// names are not known. The caller holds metrics.mu.
func (a *Agent) deliver(k *kernel, done []model.Window, over bool) {
	k.held = append(k.held, done...)
	if a.names.waits(k) {
		if over {
			a.names.ended = append(a.names.ended, k)
		}
		return
	}
	a.handOnTasks(k)
	done, k.held = k.held, nil
	for i := range done {
		a.metrics.cell(k.Owner, &done[i])
	}
	var end *telemetry.Death
	if over {
		end = a.end(k, done)
	}
	a.handOn(k, done, end)
}

// end returns the end of a kernel, nil if there is nothing to say of it, and counts it.
func (a *Agent) end(k *kernel, done []model.Window) *telemetry.Death {
	p := k.ended
	if p == nil || k.left {
		return nil
	}
	a.metrics.death(k.Owner, p.Ending)
	d := &telemetry.Death{Kernel: k.Kernel, Ending: p.Ending, Statement: k.statement, Notebook: k.notebook}
	d.At = wall(k.monitor.Origin() + event.Nanoseconds(p.EndNS))
	for i := range done {
		if outcomeOf(&done[i]) == incomplete {
			d.Open = append(d.Open, &done[i])
		}
	}
	return d
}

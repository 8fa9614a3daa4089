package pods

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Bounds on a container runtime's answers, and the times between two questions: a pod that is not known is asked for
// soon, and all of them once in a while, as pods also end.
const (
	maxCRI     = 4 << 20 // bytes of an answer
	criTime    = 5 * time.Second
	criSoon    = time.Second
	criRegular = time.Minute
)

// Runtime knows the pods of this node from its container runtime, over the socket of its CRI (v1). It asks for the
// lists of sandboxes and containers and for nothing else.
type Runtime struct {
	series
	conn   *grpc.ClientConn
	cri    cri.RuntimeServiceClient
	wanted Wanted
	asked  chan struct{} // a pod was not known
	apart  time.Duration // between two questions, at least
}

// NewRuntime returns one that [Runtime.Run] starts, for the socket that a configuration names. It fails where the
// socket may be somebody else's than root's: who answers there gives pods their names.
func NewRuntime(socket string, o Options) (*Runtime, error) {
	if err := checkSocket(socket); err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///cri",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxCRI)))
	if err != nil {
		return nil, fmt.Errorf("the container runtime's socket %s: %w", socket, err)
	}
	h := &health{
		log: o.Log, now: time.Now, advise: adviceOfCRI, well: "the container runtime answers again: pods have names",
	}
	return &Runtime{
		series: series{"cri", [Series]string{
			"1 if the container runtime answers.", "Pods that the container runtime has named.",
			"Times that a pod of the container runtime had no room.",
		}, newStore(h, o.Changed), h},
		conn: conn, cri: cri.NewRuntimeServiceClient(conn), wanted: o.Wanted,
		asked: make(chan struct{}, 1), apart: criSoon,
	}, nil
}

// checkSocket returns an error unless a file is a socket of root's that no user but root may put in its place.
func checkSocket(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the container runtime's socket %q is no absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("the container runtime's socket: %w", err)
	}
	for at, what := real, uint32(unix.S_IFSOCK); ; at, what = filepath.Dir(at), unix.S_IFDIR {
		var s unix.Stat_t
		if err := unix.Lstat(at, &s); err != nil {
			return fmt.Errorf("the container runtime's socket: %w", &fs.PathError{Op: "lstat", Path: at, Err: err})
		}
		switch {
		case s.Mode&unix.S_IFMT != what:
			return fmt.Errorf("%s is no socket", path)
		case s.Uid != 0 && s.Uid != uint32(os.Geteuid()):
			return fmt.Errorf("%s is not root's, so others than the container runtime may answer at %s", at, path)
		case s.Mode&0o022 != 0 && what == unix.S_IFDIR && s.Mode&unix.S_ISVTX == 0, s.Mode&0o002 != 0 && at == real:
			return fmt.Errorf("others than root may write to %s, so others than the container runtime may answer at %s",
				at, path)
		}
		if at == "/" {
			return nil
		}
	}
}

// Run asks for the pods until the context is done.
func (r *Runtime) Run(ctx context.Context) {
	defer r.conn.Close()
	for {
		err := r.ask(ctx)
		r.health.heard(ctx, err)
		select { // nothing is asked twice within this time
		case <-ctx.Done():
			return
		case <-time.After(r.apart):
		}
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		case <-time.After(criRegular):
		}
	}
}

// ask takes in the pods that there are.
func (r *Runtime) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, criTime)
	defer cancel()
	sandboxes, err := r.cri.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	containers, err := r.cri.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return err
	}
	pods, ofSandbox := map[string]*Pod{}, map[string]*Pod{}
	for _, one := range sandboxes.GetItems() {
		if p := r.strip(one); p != nil && len(ofSandbox) < 2*maxPods {
			if same := pods[p.UID]; same != nil { // a sandbox that was made anew
				p = same
			}
			pods[p.UID], ofSandbox[one.GetId()] = p, p
		}
	}
	for _, one := range containers.GetContainers() {
		if p := ofSandbox[one.GetPodSandboxId()]; p != nil {
			p.add("cri://"+one.GetId(), one.GetMetadata().GetName())
		}
	}
	var all []any
	for _, p := range pods {
		o := newObject(*p, "")
		all = append(all, &o)
	}
	return r.store.Replace(all, "")
}

// strip returns what is kept of a sandbox, nil for one with names that Kubernetes does not allow.
func (r *Runtime) strip(s *cri.PodSandbox) *Pod {
	var w wirePod
	w.Metadata.UID, w.Metadata.Namespace = s.GetMetadata().GetUid(), s.GetMetadata().GetNamespace()
	w.Metadata.Name, w.Metadata.Labels = s.GetMetadata().GetName(), s.GetLabels()
	w.Metadata.Annotations = s.GetAnnotations()
	if p, ok := w.strip("", &r.wanted); ok {
		return &p
	}
	return nil
}

// Find does what [Watcher.Find] does. Where the pod or the container is not known, the runtime is asked soon.
func (r *Runtime) Find(uid, container string) (p Pod, name string, known bool) {
	p, known = r.store.find(uid)
	name = p.containers[container]
	if !known || container != "" && name == "" {
		select {
		case r.asked <- struct{}{}:
		default: // it is asked anyway
		}
	}
	return p, name, known
}

// adviceOfCRI returns what a mistake of a container runtime means for the agent.
func adviceOfCRI(error) string {
	return "the container runtime does not answer at its socket: see that kubernetes.cri is its CRI's; " +
		"until then pods go by their UIDs, unless Kubernetes has named them"
}

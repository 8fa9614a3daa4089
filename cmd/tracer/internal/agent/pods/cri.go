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

// Bounds on a container runtime's answers, and the times between two questions.
const (
	maxCRI     = 4 << 20         // bytes of an answer
	criTime    = 5 * time.Second // for an answer
	criSoon    = time.Second     // if a pod is unknown
	criRegular = time.Minute     // otherwise, since pods also end
)

// Runtime knows the pods of this node from its container runtime, over the socket of its CRI (v1). It asks only for the
// lists of sandboxes and containers.
type Runtime struct {
	series
	conn   *grpc.ClientConn
	cri    cri.RuntimeServiceClient
	wanted Wanted
	wake   chan struct{} // receives when a pod was unknown
	apart  time.Duration // the least time between two questions
}

// NewRuntime returns a Runtime for a socket; [Runtime.Run] starts it. It fails if others than root may answer at the
// socket, because the answers name pods.
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
		log: o.Log, now: time.Now, advise: adviceOfCRI,
		recovered: "the container runtime answers again: pods have names",
	}
	return &Runtime{
		series: series{"cri", [Series]string{
			"1 if the container runtime answers.", "Pods that the container runtime has named.",
			"Times that a pod of the container runtime had no room.",
		}, newStore(h, o.Changed), h},
		conn: conn, cri: cri.NewRuntimeServiceClient(conn), wanted: o.Wanted,
		wake: make(chan struct{}, 1), apart: criSoon,
	}, nil
}

// checkSocket returns an error unless a file is root's socket and no other user may replace it, or a folder on its
// path. The agent's own user counts as root.
func checkSocket(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the container runtime's socket %q is no absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("the container runtime's socket: %w", err)
	}
	for part, wantedKind := real, uint32(unix.S_IFSOCK); ; part, wantedKind = filepath.Dir(part), unix.S_IFDIR {
		var s unix.Stat_t
		if err := unix.Lstat(part, &s); err != nil {
			return fmt.Errorf("the container runtime's socket: %w", &fs.PathError{Op: "lstat", Path: part, Err: err})
		}
		isSharedFolder := wantedKind == unix.S_IFDIR && s.Mode&0o022 != 0 && s.Mode&unix.S_ISVTX == 0
		isOpenSocket := part == real && s.Mode&0o002 != 0
		switch {
		case s.Mode&unix.S_IFMT != wantedKind:
			return fmt.Errorf("%s is no socket", path)
		case s.Uid != 0 && s.Uid != uint32(os.Geteuid()):
			return fmt.Errorf("%s is not root's, so others than the container runtime may answer at %s", part, path)
		case isSharedFolder, isOpenSocket:
			return fmt.Errorf("others than root may write to %s, so others than the container runtime may answer at %s",
				part, path)
		}
		if part == "/" {
			return nil
		}
	}
}

// Run asks for the pods until the context is done.
func (r *Runtime) Run(ctx context.Context) {
	defer r.conn.Close()
	for {
		err := r.update(ctx)
		r.health.note(ctx, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.apart):
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-time.After(criRegular):
		}
	}
}

// update asks for the present pods, and stores them.
func (r *Runtime) update(ctx context.Context) error {
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
	for _, item := range sandboxes.GetItems() {
		if p := r.strip(item); p != nil && len(ofSandbox) < 2*maxPods {
			if known := pods[p.UID]; known != nil { // a pod whose sandbox was made anew has two
				p = known
			}
			pods[p.UID], ofSandbox[item.GetId()] = p, p
		}
	}
	for _, item := range containers.GetContainers() {
		if p := ofSandbox[item.GetPodSandboxId()]; p != nil {
			p.addContainer("cri://"+item.GetId(), item.GetMetadata().GetName())
		}
	}
	var objects []any
	for _, p := range pods {
		o := newObject(*p, "")
		objects = append(objects, &o)
	}
	return r.store.Replace(objects, "")
}

// strip returns the pod of a sandbox, nil if it has names that Kubernetes does not allow.
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

// Find does what [Watcher.Find] does. If the pod or the container is unknown, it makes Run ask soon.
func (r *Runtime) Find(uid, container string) (p Pod, name string, known bool) {
	p, known = r.store.find(uid)
	name = p.containers[container]
	if !known || container != "" && name == "" {
		select {
		case r.wake <- struct{}{}:
		default: // Run is to ask already
		}
	}
	return p, name, known
}

// adviceOfCRI is [advice] for a container runtime.
func adviceOfCRI(error) string {
	return "the container runtime does not answer at its socket: see that kubernetes.cri is its CRI's; " +
		"until then pods go by their UIDs, unless Kubernetes has named them"
}

package pods

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeServer is a container runtime that answers at a socket.
type runtimeServer struct {
	cri.UnimplementedRuntimeServiceServer
	socket string

	mu         sync.Mutex
	sandboxes  []*cri.PodSandbox
	containers []*cri.Container
	silent     chan struct{} // each question is sent here, and never answered; nil: all are answered
}

func newRuntimeServer(t *testing.T) *runtimeServer {
	t.Helper()
	s := &runtimeServer{socket: filepath.Join(t.TempDir(), "cri.sock")}
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return s
}

func (s *runtimeServer) ListPodSandbox(ctx context.Context, _ *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if silent := s.silent; silent != nil {
		s.mu.Unlock()
		select {
		case silent <- struct{}{}:
		case <-ctx.Done():
		}
		<-ctx.Done()
		s.mu.Lock()
		return nil, ctx.Err()
	}
	return &cri.ListPodSandboxResponse{Items: s.sandboxes}, nil
}

func (s *runtimeServer) ListContainers(context.Context, *cri.ListContainersRequest) (*cri.ListContainersResponse,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &cri.ListContainersResponse{Containers: s.containers}, nil
}

// set replaces what the runtime has.
func (s *runtimeServer) set(sandboxes []*cri.PodSandbox, containers ...*cri.Container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxes, s.containers = sandboxes, containers
}

func sandbox(of int, name, id string) *cri.PodSandbox {
	return &cri.PodSandbox{
		Id: id, Metadata: &cri.PodSandboxMetadata{Uid: uid(of), Name: name, Namespace: "hub"},
		Labels:      map[string]string{"a": "1", "b": strings.Repeat("x", 2000), "unwanted": "2"},
		Annotations: map[string]string{"c": "3"},
	}
}

func container(n int, name, of string) *cri.Container {
	return &cri.Container{Id: id(n), PodSandboxId: of, Metadata: &cri.ContainerMetadata{Name: name}}
}

// runningRuntime is a [Runtime] that runs until the test ends.
type runningRuntime struct {
	*Runtime
	t       *testing.T
	log     written
	changed signal // it has taken in an answer
}

// signal says that something has happened since the last look.
type signal chan struct{}

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default: // it is set
	}
}

// until waits until a condition holds that may change when the signal is set.
func (s signal) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.After(time.Minute); !holds(); {
		select {
		case <-s:
		case <-late:
			t.Fatalf("%s: never", what)
		}
	}
}

func watchedRuntime(t *testing.T, s *runtimeServer) *runningRuntime {
	t.Helper()
	w := &runningRuntime{t: t, changed: make(signal, 1), log: written{changed: make(signal, 1)}}
	r, err := NewRuntime(s.socket, Options{
		Wanted:  Wanted{Labels: []string{"a", "b"}, Annotations: []string{"c"}},
		Log:     slog.New(slog.NewTextHandler(&w.log, nil)),
		Changed: w.changed.set,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.apart = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { r.Run(ctx) })
	t.Cleanup(func() { cancel(); ended.Wait() })
	w.Runtime = r
	return w
}

// written is a log that a test reads while it is written.
type written struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed signal
}

func (l *written) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed.set()
	return l.text.Write(p)
}

func (l *written) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// finds waits until a container of a pod is known by a name.
func (w *runningRuntime) finds(of, containerOf int, pod, want string) (p Pod) {
	w.t.Helper()
	w.changed.until(w.t, fmt.Sprintf("%s is known with %q", pod, want), func() bool {
		var name string
		var known bool
		p, name, known = w.Find(uid(of), id(containerOf))
		return known && p.Name == pod && name == want
	})
	return p
}

// knows waits until so many pods are known.
func (w *runningRuntime) knows(count int) {
	w.t.Helper()
	w.changed.until(w.t, fmt.Sprintf("%d pods are known", count), func() bool {
		w.Find(uid(9), id(9)) // not known, so the runtime is asked
		return w.store.count() == count
	})
}

// TestRuntime: pods and containers of the runtime are known, those that come later as soon as somebody asks for them.
// Of each no more is kept than is wanted, and one that is gone is known for another minute.
func TestRuntime(t *testing.T) {
	s := newRuntimeServer(t)
	s.set([]*cri.PodSandbox{sandbox(1, "ann", "s1")}, container(1, "notebook", "s1"))
	r := watchedRuntime(t, s)
	p := r.finds(1, 1, "ann", "notebook")
	if p.Namespace != "hub" || len(p.Labels) != 1 || p.Labels["a"] != "1" || p.Annotations["c"] != "3" {
		t.Errorf("kept: %+v", p)
	}
	again := sandbox(1, "ann", "s1b") // the sandbox was made anew
	s.set([]*cri.PodSandbox{sandbox(1, "ann", "s1"), again, sandbox(2, "bob", "s2")},
		container(1, "notebook", "s1"), container(2, "notebook", "s1b"), container(3, "side", "s2"))
	r.finds(2, 3, "bob", "side")
	r.finds(1, 1, "ann", "notebook")
	r.finds(1, 2, "ann", "notebook")
	s.set(nil)
	r.knows(0)
	r.finds(1, 2, "ann", "notebook")
}

// TestHostileRuntime: names that Kubernetes does not allow, pods without end, answers that are too long, and a runtime
// that never answers: what is right stays known, nothing waits, and one sentence is logged.
func TestHostileRuntime(t *testing.T) {
	s := newRuntimeServer(t)
	all := []*cri.PodSandbox{
		{}, {Metadata: &cri.PodSandboxMetadata{Uid: "../..", Name: "x", Namespace: "hub"}},
		{Id: "s", Metadata: &cri.PodSandboxMetadata{Uid: uid(3), Name: "a\nb", Namespace: "hub"}},
		{Id: "s", Metadata: &cri.PodSandboxMetadata{Uid: uid(4), Name: "x", Namespace: strings.Repeat("n", 64)}},
		sandbox(1, "ann", "s1"),
	}
	s.set(all, container(1, "notebook", "s1"), container(2, "Not a name", "s1"), container(3, "orphan", "none"),
		&cri.Container{Id: "short", PodSandboxId: "s1", Metadata: &cri.ContainerMetadata{Name: "y"}})
	r := watchedRuntime(t, s)
	r.finds(1, 1, "ann", "notebook")
	if p, name, _ := r.Find(uid(1), id(2)); name != "" || len(p.containers) != 1 || r.store.count() != 1 {
		t.Errorf("%d pods, containers %v", r.store.count(), p.containers)
	}
	many := all
	for i := range 2 * maxPods {
		many = append(many, &cri.PodSandbox{
			Id: fmt.Sprint(i), Metadata: &cri.PodSandboxMetadata{Uid: uid(10 + i), Name: "p", Namespace: "hub"},
		})
	}
	s.set(many, container(1, "notebook", "s1"))
	r.knows(maxPods)
	r.finds(1, 1, "ann", "notebook")
	if r.health.refused.Load() == 0 {
		t.Error("nothing is counted as refused")
	}
	long := sandbox(5, "long", "s5")
	long.Annotations["d"] = strings.Repeat("x", maxCRI)
	s.set([]*cri.PodSandbox{long})
	r.log.changed.until(t, "a mistake is logged", func() bool {
		r.Find(uid(5), id(5))
		return strings.Contains(r.log.String(), "does not answer at its socket")
	})
	silent := make(chan struct{}, 1)
	s.mu.Lock()
	s.silent = silent
	s.mu.Unlock()
	r.Find(uid(5), id(5))
	<-silent
	if _, name, known := r.Find(uid(1), id(1)); !known || name != "notebook" {
		t.Error("what was known is forgotten")
	}
	if n := strings.Count(r.log.String(), "\n"); n != 1 {
		t.Errorf("%d lines are logged: %s", n, &r.log)
	}
}

// TestSocketOfRuntime: a socket that may be somebody else's is refused.
func TestSocketOfRuntime(t *testing.T) {
	s := newRuntimeServer(t)
	folder := filepath.Dir(s.socket)
	file := filepath.Join(folder, "file")
	link := filepath.Join(folder, "link")
	for _, err := range []error{os.WriteFile(file, nil, 0o600), os.Symlink(s.socket, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, says := range map[string]string{
		s.socket: "", link: "", file: "is no socket", folder: "is no socket", "cri.sock": "is no absolute path",
		filepath.Join(folder, "none"): "no such file",
	} {
		err := checkSocket(path)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	mode := func(path string, mode os.FileMode) func() error {
		return func() error { return os.Chmod(path, mode) }
	}
	owner := func(uid int) func() error {
		return func() error { return os.Chown(s.socket, uid, -1) }
	}
	for _, c := range []struct {
		change, back func() error
		says         string
	}{
		{mode(s.socket, 0o777), mode(s.socket, 0o660), "may write to"},
		{mode(folder, 0o777), mode(folder, 0o700), "may write to"},
		{owner(12345), owner(0), "is not root's"},
	} {
		if os.Getuid() != 0 && c.says == "is not root's" {
			continue // `sudo make test` has it
		}
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if err := checkSocket(s.socket); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q: %v", c.says, err)
		}
		if err := c.back(); err != nil {
			t.Fatal(err)
		}
	}
}

package pods

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	node  = "node-7"
	token = "secret-token-of-the-agent"
)

// uid returns a UID, and id the id of a container.
func uid(n int) string { return fmt.Sprintf("0f3c2d1e-1a2b-4c3d-8e9f-%012d", n) }
func id(n int) string  { return fmt.Sprintf("%064x", n) }

// podText returns a pod as the API server has it, with much that is not kept.
func podText(n int, name string, containers string) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"uid":%q,"namespace":"hub","name":%q,"resourceVersion":"%d",`+
		`"labels":{"a":"1","b":"2"},"annotations":{"c":"3","secret":%q},"managedFields":[{"fieldsV1":{"f:x":{}}}]},`+
		`"spec":{"nodeName":%q,"containers":[{"env":[{"name":"TOKEN","value":%q}]}]},"status":{%s}}`,
		uid(n), name, n, token, node, token, containers)
}

// server is an API server with the pods of a node.
type server struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	items   []string // of a list
	paths   []string // of requests
	trouble http.HandlerFunc
	events  chan string // of the watch
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, events: make(chan string, 100)}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer "+token {
		s.t.Errorf("a request with %q", got)
	}
	s.mu.Lock()
	trouble, items := s.trouble, strings.Join(s.items, ",")
	s.paths = append(s.paths, r.Method+" "+r.URL.Path+" "+r.FormValue("fieldSelector"))
	s.mu.Unlock()
	switch {
	case trouble != nil:
		trouble(w, r)
	case r.FormValue("watch") == "":
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"100"},"items":[%s]}`, items)
	default:
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case one, more := <-s.events:
				if !more || one == "" { // it ends the watch
					return
				}
				fmt.Fprintln(w, one)
				w.(http.Flusher).Flush()
			}
		}
	}
}

// set changes how the server answers.
func (s *server) set(trouble http.HandlerFunc, items ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble, s.items = trouble, items
}

func (s *server) send(kind, object string) {
	s.events <- fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object)
}

// watched is a watcher of a server, in a test.
type watched struct {
	*Watcher
	t       *testing.T
	changed chan struct{}
	logged  chan string
}

// lines is what is logged, a line at a time.
type lines struct{ to chan string }

func (l lines) Write(p []byte) (int, error) {
	select {
	case l.to <- string(p):
	default:
	}
	return len(p), nil
}

// kubeconfig writes a kubeconfig for a server, and returns its path.
func kubeconfig(t *testing.T, address, user string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":%s}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, address, user)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func follow(t *testing.T, s *server) *watched {
	t.Helper()
	w := &watched{t: t, changed: make(chan struct{}, 1), logged: make(chan string, 1000)}
	var err error
	w.Watcher, err = New(Config{Enabled: "true", Node: node, Kubeconfig: kubeconfig(t, s.URL, `{"token":"`+token+`"}`)},
		Options{
			Wanted: Wanted{Labels: []string{"a"}, Annotations: []string{"c"}}, Version: "0", Open: os.Open,
			Log: slog.New(slog.NewTextHandler(lines{w.logged}, nil)),
			Changed: func() {
				select {
				case w.changed <- struct{}{}:
				default:
				}
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	w.pace = &wait.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 1 << 30}
	w.source.bounds = bounds{list: 6 << 20, answer: time.Minute, apart: time.Millisecond}
	return w
}

// start runs the watcher until the test ends.
func (w *watched) start() {
	done := make(chan struct{})
	ctx := w.t.Context()
	go func() { w.Run(ctx); close(done) }()
}

// said returns what was logged so far.
func (w *watched) said() (all []string) {
	for {
		select {
		case line := <-w.logged:
			all = append(all, line)
		default:
			return all
		}
	}
}

// until waits for a change after which a condition is true.
func (w *watched) until(what string, is func() bool) {
	w.t.Helper()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-w.changed:
		case <-late:
			w.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// knows reports whether a pod is known by a name, with a container's name.
func (w *watched) knows(n int, name string, container int, as string) func() bool {
	return func() bool {
		p, c, known := w.Find(uid(n), id(container))
		return known && p.Name == name && p.Namespace == "hub" && c == as
	}
}

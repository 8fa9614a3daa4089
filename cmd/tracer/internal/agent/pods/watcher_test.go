package pods

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// containers returns the statuses of a pod's containers.
func containers(kind string, n int, name string) string {
	return fmt.Sprintf(`%q:[{"name":%q,"containerID":"containerd://%s"}]`, kind, name, id(n))
}

// TestPodsThatComeChangeAndGo: pods that there are, that come, change and go are known, with containers of all kinds;
// one that is gone for a minute more. Of each no more is kept than was asked for, and nothing but the node's pods is
// asked for.
func TestPodsThatComeChangeAndGo(t *testing.T) {
	s := newServer(t)
	s.set(nil, podText(1, "ann", containers("containerStatuses", 1, "notebook")))
	w := follow(t, s)
	w.start()
	w.until("the list", w.knows(1, "ann", 1, "notebook"))
	p, _, _ := w.Find(uid(1), id(1))
	if len(p.Labels) != 1 || p.Labels["a"] != "1" || len(p.Annotations) != 1 || p.Annotations["c"] != "3" {
		t.Errorf("kept: %v, %v", p.Labels, p.Annotations)
	}
	s.send("ADDED", podText(2, "bob", ""))
	w.until("a pod", w.knows(2, "bob", 2, ""))
	s.send("MODIFIED", podText(2, "bob", containers("initContainerStatuses", 2, "init")))
	w.until("an init container", w.knows(2, "bob", 2, "init"))
	s.send("BOOKMARK", `{"kind":"Pod","metadata":{"resourceVersion":"200"},"spec":{},"status":{}}`)
	s.send("MODIFIED", podText(2, "bob", containers("ephemeralContainerStatuses", 3, "debug")))
	w.until("an ephemeral container", w.knows(2, "bob", 3, "debug"))
	if !w.knows(2, "bob", 2, "init")() {
		t.Error("a container that was replaced is not known any more")
	}
	w.store.mu.Lock()
	now := time.Now()
	w.store.now = func() time.Time { return now }
	w.store.mu.Unlock()
	s.send("ADDED", podText(3, "eve", ""))
	s.send("DELETED", podText(3, "eve", containers("containerStatuses", 4, "notebook")))
	w.until("a pod of a second", func() bool { return w.knows(3, "eve", 4, "notebook")() && w.store.count() == 2 })
	w.store.mu.Lock()
	now = now.Add(keepDeleted + time.Second)
	w.store.mu.Unlock()
	if _, _, known := w.Find(uid(3), id(4)); known {
		t.Error("a pod is known for ever after its end")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.paths {
		if one != "GET /api/v1/pods spec.nodeName="+node {
			t.Errorf("asked for: %s", one)
		}
	}
}

// trouble is what an API server may do, and a part of the sentence that the agent says about it.
type trouble struct {
	http.HandlerFunc
	says string
}

// troubles are those that one has; written counts what is sent of endless answers, other is another server's address.
func troubles(written *atomic.Int64, other string) map[string]trouble {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("<no>", 1<<20), code) }
	}
	endless := func(begins, goesOn string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			n, err := io.WriteString(w, begins)
			for err == nil {
				written.Add(int64(n))
				n, err = io.WriteString(w, goesOn)
			}
		}
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	const begins = `{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[`
	return map[string]trouble{
		"401":          {status(401), "renew its token"},
		"403":          {status(403), "allow its service account to get, list and watch pods"},
		"410":          {status(410), ""},
		"429":          {status(429), "does not answer"},
		"500":          {status(500), "does not answer"},
		"slow":         {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "does not answer"},
		"closes":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "does not answer"},
		"a page":       {text("<html>log in</html>"), "no list of pods"},
		"nothing":      {text(""), "no list of pods"},
		"another":      {text(`{"kind":"Status","metadata":{}}`), "no list of pods"},
		"no version":   {text(`{"items":[]}`), "no list of pods"},
		"not a list":   {text(`{"metadata":{"resourceVersion":"7"},"items":{"a":1}}`), "no list of pods"},
		"cut":          {text(begins + `{"metadata":{"name":"x"`), "no list of pods"},
		"deep":         {text(begins + strings.Repeat("[", 1<<20)), "no list of pods"},
		"endless text": {endless(begins+`{"metadata":{"name":"`, strings.Repeat("x", 1<<16)), "no list of pods"},
		"endless list": {endless(begins, podText(9, "x", "")+","), "no list of pods"},
		"endless keys": {endless(`{"`, strings.Repeat("k", 1<<16)), "no list of pods"},
		"blanks":       {endless(begins, strings.Repeat(" ", 1<<16)), "no list of pods"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other, http.StatusFound)
		}, "does not answer"},
	}
}

// TestServersTroublesAreSaidOnce: whatever the API server does, the agent says it once, and knows the pods when the
// server is well again.
func TestServersTroublesAreSaidOnce(t *testing.T) {
	var written atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the agent follows an answer to another server")
	}))
	defer other.Close()
	for name, one := range troubles(&written, other.URL) {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			w := follow(t, s)
			if name == "slow" {
				w.source.bounds.answer = 100 * time.Millisecond
			}
			asked := make(chan struct{}, 1000)
			written.Store(0)
			s.set(func(answer http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				one.ServeHTTP(answer, r)
			})
			w.start()
			for range 3 { // times that it is asked
				<-asked
			}
			if w.health.up.Load() || w.store.count() > 0 {
				t.Error("it is up")
			}
			if n := written.Load(); n > 64<<20 {
				t.Errorf("%d bytes were taken in", n)
			}
			s.set(nil, podText(1, "ann", ""))
			w.until("the server is well", w.knows(1, "ann", 1, ""))
			said := w.said()
			for _, line := range said {
				if strings.Contains(line, token) || len(line) > 1000 {
					t.Errorf("logged: %.2000s", line)
				}
			}
			if one.says == "" && len(said) == 0 {
				return
			}
			if len(said) != 2 || !strings.Contains(said[0], one.says) || !strings.Contains(said[1], "answers again") {
				t.Errorf("said: %q, want %q", said, one.says)
			}
		})
	}
}

// TestTroublesOfWatches: a watch that is expired, ends, or is nonsense begins again, and no change is missed.
func TestTroublesOfWatches(t *testing.T) {
	for name, one := range map[string]string{
		"ends":     "",
		"410":      `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}`,
		"500":      `{"type":"ERROR","object":{"kind":"Status","code":500}}`,
		"nothing":  `{"type":"ERROR","object":{}}`,
		"unknown":  `{"type":"RENAMED","object":{}}`,
		"nonsense": `<html>`,
		"a list":   `[1,2]`,
		"large":    `{"type":"ADDED","object":{"metadata":{"name":"` + strings.Repeat("x", maxObject) + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.set(nil, podText(1, "ann", ""))
			w := follow(t, s)
			w.start()
			w.until("the list", w.knows(1, "ann", 1, ""))
			s.set(nil, podText(2, "bob", ""))
			s.events <- one
			if name == "ends" { // it goes on where it was, without a list
				s.send("DELETED", podText(1, "ann", ""))
				s.send("ADDED", podText(2, "bob", ""))
			}
			w.until("the next list", func() bool { return w.knows(2, "bob", 2, "")() && w.store.count() == 1 })
			if _, _, known := w.Find(uid(1), ""); !known {
				t.Error("a pod that a list lacks is forgotten at once")
			}
		})
	}
}

// bulkyPods returns so many pods, each with a kilobyte that the agent does not need.
func bulkyPods(n int) []string {
	var all []string
	bulk := strings.Repeat("x", 1000)
	for i := range n {
		one := podText(i, fmt.Sprint("pod-", i), "")
		all = append(all, strings.Replace(one, `"c":"3"`, `"c":"3","d":"`+bulk+`"`, 1))
	}
	return all
}

// TestManyPods: of ten thousand pods so many are kept, and the others are counted. Nothing of their bulk stays.
func TestManyPods(t *testing.T) {
	s := newServer(t)
	s.set(nil, bulkyPods(10_000)...)
	w := follow(t, s)
	w.source.bounds.list = maxList
	w.source.bounds.answer = time.Minute
	w.start()
	w.until("the list", func() bool { return w.store.count() > 0 })
	if n, refused := w.store.count(), w.health.refused.Load(); n != maxPods || refused != 10_000-maxPods {
		t.Errorf("%d kept, %d refused", n, refused)
	}
	s.set(nil)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 32<<20 {
		t.Errorf("%d bytes are kept", m.HeapAlloc)
	}
	for i := range 50 {
		s.send("ADDED", podText(20_000+i, "new", ""))
		s.send("DELETED", podText(20_000+i, "new", ""))
	}
	s.send("DELETED", podText(0, "pod-0", ""))
	w.until("the last event", func() bool { return w.store.count() == maxPods-1 })
}

// TestHostilePods: pods of another node, with names that Kubernetes does not allow, or labels that are too long, are
// not kept, or not those labels.
func TestHostilePods(t *testing.T) {
	whole := func(change func(*wirePod)) wirePod {
		var w wirePod
		w.Spec.NodeName = node
		w.Metadata.UID, w.Metadata.Namespace, w.Metadata.Name = uid(1), "hub", "ann"
		w.Metadata.Labels = map[string]string{"a": strings.Repeat("x", maxValue+1), "b": "2"}
		w.Status.ContainerStatuses = []wireContainer{
			{Name: "a\nb", ContainerID: "containerd://" + id(1)}, {Name: "b", ContainerID: id(2)},
			{Name: "c", ContainerID: "x://" + id(3) + "0"}, {Name: "d", ContainerID: "x://" + id(4)},
		}
		change(&w)
		return w
	}
	wanted := &Wanted{Labels: []string{"a"}}
	w := whole(func(*wirePod) {})
	p, ok := w.strip(node, wanted)
	if !ok || len(p.Labels) > 0 || len(p.containers) != 1 || p.containers[id(4)] != "d" {
		t.Errorf("%+v", p)
	}
	for name, change := range map[string]func(*wirePod){
		"node":      func(w *wirePod) { w.Spec.NodeName = "node-8" },
		"uid":       func(w *wirePod) { w.Metadata.UID = "x" },
		"name":      func(w *wirePod) { w.Metadata.Name = "a\"b" },
		"long name": func(w *wirePod) { w.Metadata.Name = strings.Repeat("a", 254) },
		"namespace": func(w *wirePod) { w.Metadata.Namespace = "kube\nsystem" },
		"no name":   func(w *wirePod) { w.Metadata.Name = "" },
	} {
		w := whole(change)
		if p, ok := w.strip(node, wanted); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
	many := whole(func(w *wirePod) {
		for i := range 1000 {
			w.Status.ContainerStatuses = append(w.Status.ContainerStatuses,
				wireContainer{Name: "x", ContainerID: "x://" + id(100+i)})
		}
	})
	if p, _ := many.strip(node, wanted); len(p.containers) > maxContainers {
		t.Errorf("%d containers", len(p.containers))
	}
}

// TestCredentialsAreReadWithTheUsersRights: files that a kubeconfig names are opened with the rights of the person who
// named it, and a kubeconfig that runs a program or acts as somebody else is refused.
func TestCredentialsAreReadWithTheUsersRights(t *testing.T) {
	got := make(chan string, 1)
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case got <- r.Header.Get("Authorization"):
		default:
		}
	}))
	defer s.Close()
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	byFile := kubeconfig(t, s.URL, fmt.Sprintf(`{"tokenFile":%q}`, secret))
	var opened []string
	c, err := newClient(Config{Node: node, Kubeconfig: byFile}, "0", func(name string) (*os.File, error) {
		opened = append(opened, name)
		return os.Open(name)
	})
	if err != nil || len(opened) != 2 || opened[1] != secret {
		t.Fatalf("%v, opened %q", err, opened)
	}
	source := &source{client: c, health: &health{}, bounds: bounds{answer: time.Minute}}
	if body, err := source.get(t.Context(), url.Values{}); err != nil {
		t.Error(err)
	} else {
		body.Close()
	}
	if auth := <-got; auth != "Bearer abc" {
		t.Errorf("sent %q", auth)
	}
	refuses := func(name string) (*os.File, error) {
		if name == secret {
			return nil, os.ErrPermission
		}
		return os.Open(name)
	}
	if _, err := newClient(Config{Node: node, Kubeconfig: byFile}, "0", refuses); err == nil {
		t.Error("a file was read that its user may not read")
	}
	for _, user := range []string{
		`{"exec":{"command":"/bin/touch","args":["/tmp/x"],"apiVersion":"client.authentication.k8s.io/v1",` +
			`"interactiveMode":"Never"}}`,
		`{"auth-provider":{"name":"gcp"}}`, `{"token":"x","as":"admin"}`,
	} {
		if _, err := newClient(Config{Node: node, Kubeconfig: kubeconfig(t, s.URL, user)}, "0", os.Open); err == nil {
			t.Errorf("taken: %s", user)
		}
	}
	t.Setenv("NODE_NAME", "")
	_, err = newClient(Config{Kubeconfig: byFile}, "0", os.Open)
	if err == nil || !strings.Contains(err.Error(), "NODE_NAME") {
		t.Errorf("without a node: %v", err)
	}
}

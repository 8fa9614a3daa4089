package agent

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// shared bounds the work of another handler. Clients that ask while an answer is being made share the next answer, so
// that no client gets figures from before its question. Answers are made one after another, with a rest in between. So
// clients that ask without end take only a part of a processor, and nobody is refused an answer.
type shared struct {
	handler http.Handler

	making  sync.Mutex // held while an answer is made
	mu      sync.Mutex
	pending map[string]*sharedAnswer // answers that are not begun yet, by form
}

// sharedAnswer is an answer for all clients that wait for it, and the [http.ResponseWriter] that receives it.
type sharedAnswer struct {
	ready  chan struct{}
	header http.Header
	status int
	body   bytes.Buffer
}

// newShared returns a handler that shares another handler's answers to GET /metrics.
func newShared(of http.Handler) *shared {
	return &shared{handler: of, pending: map[string]*sharedAnswer{}}
}

// The forms of an answer, as values of the header Accept. There are no others, so that clients cannot ask for ever new
// forms.
const (
	protobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
	openMetrics = "application/openmetrics-text;version="
	plainText   = "text/plain;version=0.0.4"
)

// After an answer, the next one waits restShare times as long as the answer took to make, and longestRest at most.
const (
	restShare   = 4
	longestRest = 25 * time.Millisecond
)

// formOf returns the form that a request wants, by its headers Accept and Accept-Encoding.
func formOf(r *http.Request) (accept, encoding string) {
	wants := strings.Join(r.Header.Values("Accept"), ",")
	switch {
	case strings.Contains(wants, "application/vnd.google.protobuf") && strings.Contains(wants, "encoding=delimited"):
		accept = protobuf
	case strings.Contains(wants, openMetrics+"1.0.0"):
		accept = openMetrics + "1.0.0"
	case strings.Contains(wants, "application/openmetrics-text"):
		accept = openMetrics + "0.0.1"
	default:
		accept = plainText
	}
	if strings.Contains(strings.Join(r.Header.Values("Accept-Encoding"), ","), "gzip") {
		encoding = "gzip"
	}
	return accept, encoding
}

// ServeHTTP implements [http.Handler].
func (s *shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	accept, encoding := formOf(r)
	key := accept + " " + encoding
	s.mu.Lock()
	f, isPending := s.pending[key]
	if !isPending {
		f = &sharedAnswer{ready: make(chan struct{}), header: http.Header{}, status: http.StatusOK}
		s.pending[key] = f
	}
	s.mu.Unlock()
	if !isPending {
		s.make(f, key, accept, encoding)
	}
	<-f.ready
	for name, values := range f.header {
		w.Header()[name] = values
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body.Bytes())
}

// make makes an answer for all clients that wait for it, and rests.
func (s *shared) make(f *sharedAnswer, key, accept, encoding string) {
	s.making.Lock()
	defer s.making.Unlock()
	s.mu.Lock()
	delete(s.pending, key) // clients that ask from now on get a later answer
	s.mu.Unlock()
	began := time.Now()
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err != nil {
		f.status = http.StatusInternalServerError
		close(f.ready)
		return
	}
	r.Header.Set("Accept", accept)
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	s.handler.ServeHTTP(f, r)
	close(f.ready)
	time.Sleep(min(longestRest, restShare*time.Since(began)))
}

// Header implements [http.ResponseWriter].
func (f *sharedAnswer) Header() http.Header { return f.header }

// WriteHeader implements [http.ResponseWriter].
func (f *sharedAnswer) WriteHeader(status int) { f.status = status }

// Write implements [http.ResponseWriter].
func (f *sharedAnswer) Write(text []byte) (int, error) { return f.body.Write(text) }

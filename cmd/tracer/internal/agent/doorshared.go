package agent

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"
)

// shared answers with the figures of another handler. Clients that ask at the same time share figures, and a client's
// figures are never begun before it asks. Figures are made one after another, with a rest in between. So clients that
// ask without end take only a part of a processor, and nobody is refused an answer.
type shared struct {
	of http.Handler

	making sync.Mutex // held while figures are made
	mu     sync.Mutex
	next   map[string]*figures // that are to be made, by the form of the answer
}

// figures are an answer for all clients that wait for it. They are also the [http.ResponseWriter] that keeps the
// answer.
type figures struct {
	made   chan struct{}
	header http.Header
	status int
	body   bytes.Buffer
}

// newShared returns a handler that shares another handler's answers to GET /metrics.
func newShared(of http.Handler) *shared { return &shared{of: of, next: map[string]*figures{}} }

// Forms of figures, by what is in the header Accept. There are only these: nobody can ask for new forms without end.
const (
	protobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
	openMetrics = "application/openmetrics-text;version="
	plainText   = "text/plain;version=0.0.4"
)

// restShare bounds the rest: the next figures wait restShare times as long as the last ones took to make, and
// longestRest at most.
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
	f, asked := s.next[key]
	if !asked {
		f = &figures{made: make(chan struct{}), header: http.Header{}, status: http.StatusOK}
		s.next[key] = f
	}
	s.mu.Unlock()
	if !asked {
		s.make(f, key, accept, encoding)
	}
	<-f.made
	for name, values := range f.header {
		w.Header()[name] = values
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body.Bytes())
}

// make makes figures for all who wait for them, and rests.
func (s *shared) make(f *figures, key, accept, encoding string) {
	s.making.Lock()
	defer s.making.Unlock()
	s.mu.Lock()
	delete(s.next, key) // whoever asks from now on is too late for these
	s.mu.Unlock()
	began := time.Now()
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err != nil {
		f.status = http.StatusInternalServerError
		close(f.made)
		return
	}
	r.Header.Set("Accept", accept)
	if encoding != "" {
		r.Header.Set("Accept-Encoding", encoding)
	}
	s.of.ServeHTTP(f, r)
	close(f.made)
	time.Sleep(min(longestRest, restShare*time.Since(began)))
}

// Header implements [http.ResponseWriter].
func (f *figures) Header() http.Header { return f.header }

// WriteHeader implements [http.ResponseWriter].
func (f *figures) WriteHeader(status int) { f.status = status }

// Write implements [http.ResponseWriter].
func (f *figures) Write(text []byte) (int, error) { return f.body.Write(text) }

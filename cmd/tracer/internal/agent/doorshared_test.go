package agent

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// TestShared: whoever asks gets figures that were begun after the question, in the form that was asked for. They are
// made for many at once, and nobody is refused.
func TestShared(t *testing.T) {
	var clock, made atomic.Int64
	work := make([]byte, 1<<20)
	s := newShared(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made.Add(1)
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		at := clock.Load()
		fmt.Fprintf(w, "%d %x", at, sha256.Sum256(work)) // figures cost processor time
	}))
	const threads, each = 40, 25
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			accept := []string{"", "application/openmetrics-text;version=1.0.0,*/*", protobuf}[i%3]
			for range each {
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				r.Header.Set("Accept", accept)
				asked := clock.Add(1)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				var at int64
				if _, err := fmt.Sscan(w.Body.String(), &at); err != nil || w.Code != http.StatusOK || at < asked {
					t.Errorf("status %d, figures of %d for a question at %d; %v", w.Code, at, asked, err)
				}
				if want, _ := formOf(r); w.Header().Get("Content-Type") != want {
					t.Errorf("%q, not %q", w.Header().Get("Content-Type"), want)
				}
			}
		})
	}
	all.Wait()
	if n := made.Load(); n > threads*each/2 {
		t.Errorf("figures were made %d times for %d questions", n, threads*each)
	}
}

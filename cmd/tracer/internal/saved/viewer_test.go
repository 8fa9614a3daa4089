package saved

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recorded returns a file with a share, in percent, of a recording, and the whole recording.
func recorded(t *testing.T, share int) (path string, whole []byte) {
	t.Helper()
	whole, err := os.ReadFile("../../../../testdata/recording/format6.arrows")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "run.arrows")
	if err := os.WriteFile(path, whole[:len(whole)*share/100], 0o600); err != nil {
		t.Fatal(err)
	}
	return path, whole
}

// viewed returns a viewer of a recording that has read it, and a function that asks it.
func viewed(t *testing.T, path string) (v *viewer, ask func(method, host, path string) *httptest.ResponseRecorder) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	v = &viewer{file: f, host: "127.0.0.1:4711", token: "secret", ctx: t.Context()}
	if err := v.read(); err != nil {
		t.Fatal(err)
	}
	return v, func(method, host, path string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(method, "http://127.0.0.1:4711"+path, nil)
		q.Host = host
		w := httptest.NewRecorder()
		v.ServeHTTP(w, q)
		return w
	}
}

// TestViewAnswers: the page is for clients that have the secret and address exactly this host.
func TestViewAnswers(t *testing.T) {
	path, _ := recorded(t, 60)
	v, ask := viewed(t, path)
	for _, c := range []struct {
		method, host, path string
		want               int
	}{
		{"GET", "127.0.0.1:4711", "/secret/", 200}, {"HEAD", "127.0.0.1:4711", "/secret/", 200},
		{"GET", "127.0.0.1:4711", "/secret/data", 200}, {"GET", "127.0.0.1:4711", "/secret/data?have=1", 204},
		{"GET", "localhost:4711", "/secret/", 421}, {"GET", "evil.example", "/secret/", 421},
		{"GET", "127.0.0.1", "/secret/data", 421}, {"POST", "127.0.0.1:4711", "/secret/", 405},
		{"GET", "127.0.0.1:4711", "/", 404}, {"GET", "127.0.0.1:4711", "/secre/", 404},
		{"GET", "127.0.0.1:4711", "/secrets/data", 404}, {"GET", "127.0.0.1:4711", "/secret/../etc/passwd", 404},
	} {
		w := ask(c.method, c.host, c.path)
		if w.Code != c.want {
			t.Errorf("%s %s of %s: %d, want %d", c.method, c.path, c.host, w.Code, c.want)
		}
		if w.Code != 200 &&
			(strings.Contains(w.Body.String(), "schema") || strings.Contains(w.Body.String(), "secret")) {
			t.Errorf("%s %s of %s tells %q", c.method, c.path, c.host, w.Body)
		}
	}
	page := ask("GET", v.host, "/secret/")
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self'") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
}

// TestViewFollows: the page follows the recording while it grows.
func TestViewFollows(t *testing.T) {
	path, whole := recorded(t, 60)
	v, ask := viewed(t, path)
	before := ask("GET", v.host, "/secret/data").Body.Len()
	if err := os.WriteFile(path, whole, 0o600); err != nil { // the same file, longer
		t.Fatal(err)
	}
	v.readAt = time.Time{} // it was read long ago
	if now := ask("GET", v.host, "/secret/data?have=1"); now.Code != 204 {
		t.Errorf("the recording has just grown, and the answer is %d", now.Code)
	}
	v.mu.Lock()
	reading := v.reading
	v.mu.Unlock()
	if reading != nil {
		<-reading
	}
	after := ask("GET", v.host, "/secret/data?have=1")
	if after.Code != 200 || after.Body.Len() <= before {
		t.Errorf("the recording has grown: %d, %d bytes after %d", after.Code, after.Body.Len(), before)
	}
	if again := ask("GET", v.host, "/secret/data?have=2"); again.Code != 204 {
		t.Errorf("nothing has changed since, and the answer is %d", again.Code)
	}
}

// TestViewIsBounded: reading a growing recording takes a tenth of the time at most. A recording that has stopped
// growing is read soon.
func TestViewIsBounded(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		took, ago, still time.Duration
		want             bool
	}{
		{time.Second, 8 * time.Second, 0, false}, {time.Second, 9 * time.Second, 0, true},
		{time.Minute, 8 * time.Minute, time.Second, false},
		{time.Minute, 30 * time.Second, time.Minute, false}, {time.Minute, time.Minute, time.Minute, true},
		{time.Minute, time.Minute, stillAfter, true}, {0, 0, 0, true},
	} {
		v := &viewer{readTime: c.took, readAt: now.Add(-c.ago), grownAt: now.Add(-c.still)}
		if got := v.isTime(now); got != c.want {
			t.Errorf("%v after a reading of %v, grown %v ago: %v", c.ago, c.took, c.still, got)
		}
	}
}

// TestViewKeepsWhatItHas: if a recording cannot be read any more, the answer is an error, and the page has no new
// version.
func TestViewKeepsWhatItHas(t *testing.T) {
	path, whole := recorded(t, 100)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := &viewer{file: f, ctx: t.Context()}
	if err := v.read(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 2*len(whole)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.read(); err == nil {
		t.Error("a file of x is a recording")
	}
	if _, version, err := v.newest(); err == nil || version != 1 {
		t.Errorf("version %d, error %v", version, err)
	}
}

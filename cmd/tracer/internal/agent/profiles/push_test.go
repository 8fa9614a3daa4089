package profiles

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// opens returns a function that opens a file with a text, whichever name is asked for.
func opens(text string) func(string) (*os.File, error) {
	return func(string) (*os.File, error) {
		f, err := os.CreateTemp("", "headers")
		if err != nil {
			return nil, err
		}
		defer os.Remove(f.Name())
		if _, err := f.WriteString(text); err != nil {
			return nil, err
		}
		_, err = f.Seek(0, io.SeekStart)
		return f, err
	}
}

// held returns flows of a kernel that holds some bytes.
func held(bytes int64) []attribution.Flow {
	return []attribution.Flow{{Meter: "cpu.numpy", Held: bytes, Exact: true}}
}

// taken is what an engine got.
type taken struct {
	path, token string
	message     message
}

// TestPush: a push has the interval and the cells of a kernel, under bounded labels that are no cell's.
func TestPush(t *testing.T) {
	got := make(chan taken, 10)
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one := taken{path: r.URL.Path, token: r.Header.Get("Authorization")}
		if err := json.NewDecoder(r.Body).Decode(&one.message); err != nil {
			t.Error(err)
		}
		got <- one
		_, _ = io.WriteString(w, "{}")
	}))
	defer engine.Close()
	p, counted := profiler(t, Config{URL: engine.URL, HeadersFile: "h"}, "# a token\nAuthorization: Bearer t\n")
	k := &telemetry.Kernel{Slot: 7, Owner: telemetry.Owner{User: strings.Repeat("x", 5000) + "\n", Pod: "p\xff"}}
	p.Interval(k, time.Now(), held(4096), false)
	p.take(t.Context(), <-p.queue)
	one := <-got
	if one.path != "/push.v1.PusherService/Push" || one.token != "Bearer t" || len(one.message.Series) != 1 {
		t.Fatalf("%+v", one)
	}
	labels := map[string]string{}
	for _, l := range one.message.Series[0].Labels {
		labels[l.Name] = l.Value
	}
	if len(labels) != 6 || labels["kernel"] != "7" || labels["__delta__"] != "false" || labels["pod"] != `p\xff` ||
		len(labels["user"]) > telemetry.MaxLabel*4 || strings.Contains(labels["user"], "\n") {
		t.Errorf("%v", labels)
	}
	raw := one.message.Series[0].Samples[0].RawProfile
	if s := sum(t, parsed(t, raw), "cpu.numpy.inuse_space"); s != 4096 || counted()["sent"] != 1 {
		t.Errorf("%d, %v", s, counted())
	}
}

// TestMisbehavingEngines: whatever an engine does, an attempt ends, nothing is sent twice, and what was dropped is
// counted with its reason.
func TestMisbehavingEngines(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	for name, one := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"refuses":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Bearer t", 400) }, exports.Refused},
		"denies":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, exports.Refused},
		"too much": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, exports.Refused},
		"fails":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, exports.Unreachable},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x", http.StatusTemporaryRedirect)
		}, exports.Refused},
		"closes": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			exports.Unreachable},
		"is slow": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}, exports.Unreachable},
		"huge headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, exports.Unreachable},
		"huge answer": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, "sent"},
		"is no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, "\x00\xffnot http\r\n\r\n")
				_ = c.Close()
			}
		}, exports.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			requests := make(chan string, 100)
			engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests <- r.URL.Path
				_, _ = io.Copy(io.Discard, r.Body)
				one.answer(w, r)
			}))
			defer engine.Close()
			p, counted := profiler(t, Config{URL: engine.URL}, "")
			p.pusher.client.Timeout = time.Second
			p.Interval(&telemetry.Kernel{}, time.Now(), held(4096), false)
			p.take(t.Context(), <-p.queue)
			if counted()[one.want] != 1 || len(requests) != 1 {
				t.Errorf("%v, %d requests", counted(), len(requests))
			}
		})
	}
}

// TestEngineIsDown: where there is no connection, the push is tried again some times, and then counted.
func TestEngineIsDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p, counted := profiler(t, Config{URL: "http://" + address}, "")
	p.pusher.pause = time.Millisecond
	p.Interval(&telemetry.Kernel{}, time.Now(), held(4096), false)
	p.take(t.Context(), <-p.queue)
	if counted()[exports.Unreachable] != 1 {
		t.Errorf("%v", counted())
	}
	p.pusher.pause = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	p.Interval(&telemetry.Kernel{}, time.Now(), held(4096), false)
	cancel()
	p.Run(ctx) // ends, and counts what is left
	if counted()[exports.Unreachable] != 2 {
		t.Errorf("%v", counted())
	}
}

// TestPull: the last interval of a kernel has the same bytes as often as it is asked for; a number without one, and one
// that is none, has nothing. It ends with the kernel.
func TestPull(t *testing.T) {
	p, _ := profiler(t, Config{Pull: true}, "")
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, p)
	get := func(slot string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/kernel/"+slot, nil))
		return w.Code, w.Body.String()
	}
	k := &telemetry.Kernel{Slot: 3}
	p.Interval(k, time.Now(), held(4096), false)
	p.take(t.Context(), <-p.queue)
	code, first := get("3")
	if _, again := get("3"); code != 200 || again != first || sum(t, parsed(t, []byte(first)),
		"cpu.numpy.inuse_space") != 4096 {
		t.Errorf("%d, %d bytes, then %d", code, len(first), len(again))
	}
	for _, slot := range []string{"4", "-1", "x", "259", "3x", "99999999999999999999", "%2e%2e", "0x3"} {
		if code, _ := get(slot); code != 404 {
			t.Errorf("%s: %d", slot, code)
		}
	}
	p.Interval(k, time.Now(), held(0), true)
	p.take(t.Context(), <-p.queue)
	if code, _ := get("3"); code != 404 {
		t.Errorf("after its end: %d", code)
	}
}

// TestHeaders: a mistake in the file of headers has its line, and no value of it. A file that has changed is read again
// for the next push; one with a mistake changes nothing.
func TestHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var tokens []string
	engine := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
	}))
	defer engine.Close()
	c := Config{URL: engine.URL, HeadersFile: file}
	if c.CheckFiles(os.Open) == nil {
		t.Error("a file that is not there is right")
	}
	for text, want := range map[string]string{"A: b\n\nsecret\n": file + ":3: ", "Host: secret\n": file + ":1: "} {
		write(text)
		err := fmt.Sprint(c.CheckFiles(os.Open))
		if !strings.HasPrefix(err, "headers_file: "+want) || strings.Contains(err, "secret") {
			t.Errorf("%q: %s", text, err)
		}
	}
	write("Authorization: first\n")
	p, counted := profiler(t, c, "")
	var err error
	if p.pusher.headers, err = exports.NewHeaders(file, os.Open); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Authorization: first\n", "authorization:second\n", "no header\n"} {
		write(text)
		p.Interval(&telemetry.Kernel{}, time.Now(), held(4096), false)
		p.take(t.Context(), <-p.queue)
	}
	if fmt.Sprint(tokens) != "[first second second]" || counted()["sent"] != 3 {
		t.Errorf("%v, %v", tokens, counted())
	}
}

// TestConfigMistakes: each field is checked, and no text has a part of a URL.
func TestConfigMistakes(t *testing.T) {
	for _, one := range []struct {
		c    Config
		key  string
		text error
	}{
		{Config{}, "url", errNowhere},
		{Config{URL: "pyroscope:4040"}, "url", errURL},
		{Config{URL: "ftp://x"}, "url", errURL},
		{Config{URL: "https://me:secret@x"}, "url", exports.ErrSecret},
		{Config{URL: "https://x/?token=secret"}, "url", exports.ErrSecret},
		{Config{URL: "http://x"}, "url", exports.ErrClear},
		{Config{Pull: true, HeadersFile: "h"}, "headers_file", errHeaders},
	} {
		key, err := one.c.Check()
		if err == nil || key != one.key || !strings.Contains(err.Error(), one.text.Error()) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: %s, %v", one.c, key, err)
		}
	}
	if key, err := (&Config{Pull: true, Every: time.Second}).Check(); key != "every" || err == nil {
		t.Errorf("%s, %v", key, err)
	}
	for _, url := range []string{"http://localhost:4040", "http://127.0.0.1:4040", "http://[::1]", "https://x/base"} {
		c := Config{URL: url}
		if key, err := c.Check(); err != nil || c.Every != time.Minute {
			t.Errorf("%s: %s, %v", url, key, err)
		}
	}
}

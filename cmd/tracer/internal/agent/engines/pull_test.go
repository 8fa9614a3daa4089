package engines

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// held returns flows of a kernel that holds some bytes.
func held(bytes int64) []attribution.Flow {
	return []attribution.Flow{{Meter: "cpu.numpy", Held: bytes, Exact: true}}
}

// TestPulledProfileIsTheLastInterval: the last interval of a kernel has the same bytes as often as it is asked for; a
// number without one, and one that is none, has nothing. It ends with the kernel. Answers are counted.
func TestPulledProfileIsTheLastInterval(t *testing.T) {
	p, counted := profiler(t)
	mux := http.NewServeMux()
	mux.Handle("GET "+ProfilesPath, p)
	get := func(slot string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/kernel/"+slot, nil))
		return w.Code, w.Body.String()
	}
	k := &telemetry.Kernel{Slot: 3}
	p.Interval(k, time.Now(), held(4096), false)
	p.handle(<-p.queue)
	code, first := get("3")
	if _, again := get("3"); code != 200 || again != first || sumOf(t, parsed(t, []byte(first)),
		"cpu.numpy.inuse_space") != 4096 {
		t.Errorf("%d, %d bytes, then %d", code, len(first), len(again))
	}
	for _, slot := range []string{"4", "-1", "x", "259", "3x", "99999999999999999999", "%2e%2e", "0x3"} {
		if code, _ := get(slot); code != 404 {
			t.Errorf("%s: %d", slot, code)
		}
	}
	p.Interval(k, time.Now(), held(0), true)
	p.handle(<-p.queue)
	if code, _ := get("3"); code != 404 {
		t.Errorf("after its end: %d", code)
	}
	if n := counted()["sent"]; n != 2 {
		t.Errorf("%v answers were counted", n)
	}
}

package profiles

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"ipytracer/cmd/tracer/internal/agent/exports"
	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/model"
)

// sends returns a profiler that sends to an address by OTLP, and a function that returns its counters.
func sends(t *testing.T, address string) (*Profiler, func(series string) float64) {
	t.Helper()
	to, err := url.Parse(address + "/" + OTLPPath)
	if err != nil {
		t.Fatal(err)
	}
	headers := filepath.Join(t.TempDir(), "h")
	if err := os.WriteFile(headers, []byte("Authorization: Bearer t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	counts, registry := exports.NewCounts(), prometheus.NewPedanticRegistry()
	registry.MustRegister(counts)
	c := Config{OTLP: true}
	if _, err := c.Check(); err != nil {
		t.Fatal(err)
	}
	p, err := New(Options{
		Config: c, Version: "test", Log: slog.New(slog.DiscardHandler), Counts: counts.Of(Engine), Open: os.Open,
		Users: func() bool { return true },
		Receiver: &Receiver{
			To: to, HeadersFile: headers, Counts: counts.Of(OTLPEngine),
			Resource: func(*telemetry.Kernel) *resourcepb.Resource { return &resourcepb.Resource{} },
			Trace:    func(telemetry.SpanID) ([16]byte, bool) { return [16]byte{9}, true },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, func(reason string) float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				labels := map[string]string{"reason": "sent"}
				for _, l := range m.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if labels["engine"] == OTLPEngine && labels["reason"] == reason {
					total += m.GetCounter().GetValue()
				}
			}
		}
		return total
	}
}

// cell hands a cell with a peak to a profiler.
func cell(p *Profiler, k *telemetry.Kernel, peak int64) {
	p.Cell(&telemetry.Cell{Kernel: k, SpanID: telemetry.NewSpanID(), Window: &model.Window{
		Meters: map[string]model.Figure{"cpu.numpy": {Peak: peak, Exact: true}},
	}})
}

// TestOTLP: a receiver gets the interval and the cells of a kernel, with the same figures, the token, and links to
// spans.
func TestOTLP(t *testing.T) {
	var got []*profilespb.ProfilesData
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		raw, err := io.ReadAll(unpacked)
		var one profilespb.ProfilesData
		if err != nil || proto.Unmarshal(raw, &one) != nil || r.URL.Path != "/v1development/profiles" ||
			r.Header.Get("Authorization") != "Bearer t" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%v, %s, %v", err, r.URL, r.Header)
		}
		got = append(got, &one)
	}))
	defer receiver.Close()
	p, counted := sends(t, receiver.URL)
	k := &telemetry.Kernel{Slot: 7}
	var want int64
	for i := range int64(100) {
		cell(p, k, 1<<53+i)
		want += 1<<53 + i
	}
	p.Interval(k, time.Now(), held(4096), false)
	p.take(t.Context(), <-p.queue)
	var interval, peaks int64
	for _, one := range got {
		d := one.Dictionary
		for _, of := range one.ResourceProfiles[0].ScopeProfiles[0].Profiles {
			for _, s := range of.Samples {
				switch d.StringTable[of.SampleType.TypeStrindex] {
				case "cpu.numpy.inuse_space":
					interval += s.Values[0]
				case "cpu.numpy.cell_peak_space":
					peaks += s.Values[0]
					if link := d.LinkTable[s.LinkIndex]; link.TraceId[0] != 9 || len(link.SpanId) != 8 {
						t.Errorf("%v", link)
					}
				}
			}
		}
	}
	if len(got) != 2 || interval != 4096 || peaks != want || counted("sent") != 101 {
		t.Errorf("%d messages, %d, %d of %d, %v sent", len(got), interval, peaks, want, counted("sent"))
	}
}

// TestMisbehavingReceivers: whatever a receiver does, profiles are sent once, and what was dropped is counted.
func TestMisbehavingReceivers(t *testing.T) {
	for name, one := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"has no profiles": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, exports.Refused},
		"fails":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, exports.Unreachable},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, exports.Refused},
		"closes": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, exports.Unreachable},
		"is slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			exports.Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			requests := make(chan string, 100)
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests <- r.URL.Path
				_, _ = io.Copy(io.Discard, r.Body)
				one.answer(w, r)
			}))
			defer receiver.Close()
			p, counted := sends(t, receiver.URL)
			p.otlp.client.Timeout = time.Second
			p.Interval(&telemetry.Kernel{}, time.Now(), held(4096), false)
			p.take(t.Context(), <-p.queue)
			if counted(one.want) != 1 || len(requests) != 1 {
				t.Errorf("%v refused, %v unreachable, %d requests", counted(exports.Refused),
					counted(exports.Unreachable), len(requests))
			}
		})
	}
}

// TestOTLPHasNoRoom: what finds no room is counted for the receiver.
func TestOTLPHasNoRoom(t *testing.T) {
	p, counted := sends(t, "http://127.0.0.1:1")
	k := &telemetry.Kernel{}
	for range maxCells + 3 {
		cell(p, k, 1)
	}
	for range maxQueue + 1 {
		p.Interval(&telemetry.Kernel{Slot: 1}, time.Now(), held(1), false)
	}
	if counted(exports.QueueFull) != 4 {
		t.Errorf("%v", counted(exports.QueueFull))
	}
}

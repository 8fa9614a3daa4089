package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/sheet"
)

// script is a session that is over before it is looked at.
type script struct{ left []event.Event }

func (s *script) Next(context.Context) (event.Event, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	e := s.left[0]
	s.left = s.left[1:]
	return e, nil
}

// TestRecordingSaysTheSame: after any events, lulls and questions of a notebook, the report of a session in any format,
// its audit and the verdict of --strict equal those of its recording, byte for byte.
func TestRecordingSaysTheSame(t *testing.T) {
	lulls, differ := 0, 0
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 11))
			events := anySession(seed, random)
			path := filepath.Join(t.TempDir(), "run.arrows")
			live := traced(t, events, path, random)
			replayed, none := newAudited(), newAudited()
			for _, e := range eventsOf(t, path) {
				replayed.reports.Add(e)
				if _, is := e.(*event.Lull); is {
					lulls++
				} else {
					none.reports.Add(e)
				}
			}
			want, got, without := said(t, live), said(t, replayed), said(t, none)
			for what := range want {
				if !bytes.Equal(want[what], got[what]) {
					t.Errorf("%s: %s", what, firstDifference(want[what], got[what]))
				}
				if !bytes.Equal(want[what], without[what]) {
					differ++
				}
			}
		})
	}
	if lulls == 0 || differ == 0 {
		t.Errorf("%d lulls, %d reports are others without them: this test shows nothing", lulls, differ)
	}
}

// audited is a session with an audit.
type audited struct {
	reports  *attribution.Tracker
	findings *attribution.Findings
}

func newAudited() *audited {
	tracker, findings := attribution.NewAudited()
	return &audited{tracker, findings}
}

// anySession returns a session at random, with a look at its objects in its end.
func anySession(seed uint64, random *rand.Rand) (events []event.Event) {
	attributiontest.Anything(func(e event.Event) {
		f, is := e.(*event.Finish)
		if is && random.IntN(4) > 0 {
			events = append(events, &event.Settled{Finish: *f, Holders: random.IntN(2) == 0})
		}
		if is {
			events = append(events,
				&event.Variables{PID: attributiontest.Kernel, Complete: true, Variables: []event.Variable{
					{
						Kind: event.HeldByVariable, Name: "x", Type: "numpy.ndarray", Bytes: 32 << 20, Exact: true,
						Length: -1,
					},
				}})
		}
		events = append(events, e)
	}, seed, 500)
	for range random.IntN(5) {
		at := random.IntN(len(events))
		events = append(events[:at], append([]event.Event{&event.Looked{PID: attributiontest.Kernel}},
			events[at:]...)...)
	}
	return events
}

// traced follows a session that is recorded, as if it were read a bit at a time.
func traced(t *testing.T, events []event.Event, path string, random *rand.Rand) *audited {
	t.Helper()
	_, cancel := context.WithCancelCause(t.Context())
	c := console.Console{
		Out: io.Discard, Err: console.NewMessages(io.Discard), Signals: console.WatchSignals(cancel, io.Discard),
	}
	defer c.Signals.Stop()
	o := Options{Options: console.Options{Format: "html"}, Record: path}
	of := newAudited()
	s, err := New(&o, c, of.reports)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := s.ready(); err != nil {
		t.Fatal(err)
	}
	s.Live, s.Source = false, &script{events}
	s.Listen(of.reports, of.findings, "")
	often := 1 + random.IntN(6)
	if err := s.Follow(t.Context(), func() bool { return random.IntN(often) > 0 }); err != nil {
		t.Fatal(err)
	}
	return of
}

func eventsOf(t *testing.T, path string) (events []event.Event) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := recording.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := r.Next(t.Context())
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

// said returns all outputs of a session.
func said(t *testing.T, of *audited) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	audit := of.findings.Audit(1)
	one := func(what string, print func(io.Writer) error) {
		var out bytes.Buffer
		if err := print(&out); err != nil { // such as memory-viz without GPUs
			fmt.Fprint(&out, err)
		}
		all[what] = out.Bytes()
	}
	for _, name := range append(console.FormatNames(), "full") {
		o := console.Options{Format: name}
		if name == "full" {
			o.Format, o.Full = "text", true
		}
		one(name, func(w io.Writer) error { return o.Print(w, of.reports.Stream(), audit) })
	}
	one("audit", func(w io.Writer) error { return sheet.Audit(audit, sheet.Options{}).Text(w, doc.Size{Width: 120}) })
	one("audit as a page", func(w io.Writer) error { return sheet.Audit(audit, sheet.Options{}).HTML(w) })
	one("strict", func(w io.Writer) error {
		var all console.Strictness
		if err := all.Set("all"); err != nil {
			return err
		}
		note, err := all.Judge(of.reports.Stream())
		_, _ = fmt.Fprint(w, note, err)
		return nil
	})
	return all
}

// firstDifference shows the place at which two texts differ.
func firstDifference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-80)
	return fmt.Sprintf("at %d of %d and %d bytes:\n%q\n%q",
		i, len(a), len(b), a[from:min(len(a), i+80)], b[from:min(len(b), i+80)])
}

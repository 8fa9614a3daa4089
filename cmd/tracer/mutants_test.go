package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/advice"
	"ipytracer/internal/compare"
	"ipytracer/internal/hostile"
	"ipytracer/internal/merge"
	"ipytracer/internal/plan"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// kinds is how many kinds of damage mutate does.
const kinds = 6

// mutate returns a copy of a recording in which something was cut, flipped, swapped, doubled, left out or overwritten.
func mutate(random *rand.Rand, kind int, file []byte, at []int) []byte {
	bad := bytes.Clone(file)
	frame := func() (from, to int) {
		i := 1 + random.IntN(len(at)-2)
		return at[i], at[i+1]
	}
	switch kind {
	case 0:
		return bad[:random.IntN(len(bad))]
	case 1:
		for range 1 + random.IntN(8) {
			bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		}
	case 2:
		a, b := frame()
		c, d := frame()
		return slices.Concat(file[:a], file[c:d], file[b:])
	case 3:
		a, b := frame()
		return slices.Concat(file[:b], file[a:])
	case 4:
		a, b := frame()
		return slices.Concat(file[:a], file[b:])
	case 5:
		from := random.IntN(len(bad))
		clear(bad[from:min(len(bad), from+random.IntN(5000))])
	}
	return bad
}

// prints prints a recording in every format, as every command does, and reports what is wrong with that. whole is the
// report of the recording that it was made from, nil if there is none. brief prints no format but JSON.
func prints(t testing.TB, data, whole []byte, brief bool) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	tracker, findings := attribution.NewAudited()
	set, err := merge.New(merge.Options{Meter: "cpu.resident", WallError: -1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	node := set.Reader()
	extent, err := readAll(ctx, bytes.NewReader(data), func(e event.Event) {
		node.Add(e)
		tracker.Add(e)
	})
	if errors.Is(err, recording.ErrNotRecording) || errors.Is(err, recording.ErrVersion) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	audit := findings.Audit(1 << 20)
	certified(t, extent, tracker, audit, whole)
	if brief {
		return
	}
	var out bytes.Buffer
	for _, f := range console.FormatNames() {
		r := tracker.Stream()
		o := console.Options{Format: f, Full: true}
		r.Advice = advice.Make(r, advice.Options{})
		err := o.Print(&out, r, audit)
		if err != nil && !(f == "memory-viz" && errors.Is(err, export.ErrNoGPU)) {
			t.Fatalf("%s: %v", f, err)
		}
		if !extent.IsWhole() {
			if s := accuracyClaim(f, strings.TrimSpace(out.String())); s != "" {
				t.Fatalf("%s of a recording that is not whole claims: %.1500s", f, s)
			}
		}
		out.Reset()
	}
	compared(t, extent, tracker, set, node)
}

// certified checks what a report, an audit and advice say of themselves.
func certified(t testing.TB, extent recording.Extent, tracker *attribution.Tracker, audit *model.Audit, whole []byte) {
	t.Helper()
	r := tracker.Stream()
	certificate, a := r.Certificate, advice.Make(r, advice.Options{})
	var text, advised, audited bytes.Buffer
	err := errors.Join(report.JSON(&text, tracker.Stream()), report.AdviceJSON(&advised, a),
		report.AuditJSON(&audited, audit))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(reporttest.Check(text.Bytes()), reporttest.CheckAdvice(advised.Bytes()),
		reporttest.CheckAudit(audited.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if extent.IsWhole() == slices.Contains(certificate.Incomplete, words.RecordingCut) {
		t.Fatalf("%v, but %+v", extent, certificate)
	}
	if !extent.IsWhole() &&
		(certificate.Complete || audit.Complete || a.Exact || len(a.Incomplete) == 0 ||
			accuracyClaim("json", advised.String()) != "") {
		t.Fatalf("%v, but it is complete: %v, %v, %v", extent, certificate.Complete, audit.Complete, a.Exact)
	}
	if extent.IsWhole() && certificate.Complete && whole != nil && !bytes.Equal(text.Bytes(), whole) {
		t.Fatalf("it is whole and complete, and another report:\n%.2000s", text.Bytes())
	}
}

// compared prints what compares a recording with itself, or adds it up.
func compared(t testing.TB, extent recording.Extent, tracker *attribution.Tracker, set *merge.Set, node *merge.Reader) {
	t.Helper()
	d, err := compare.Runs(compare.Read("a", tracker.Stream()), compare.Read("b", tracker.Stream()), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Make([]*plan.Run{plan.Read("a", tracker.Stream())})
	// one without a beginning is refused
	if err := set.Add("a", node, tracker.Stream()); err != nil && extent.IsWhole() {
		t.Fatal(err)
	}
	m := set.Merge()
	for what, print := range map[string]func(io.Writer) error{
		"diff": func(w io.Writer) error { return report.DiffJSON(w, d) },
		"plan": func(w io.Writer) error { return report.PlanJSON(w, p) },
	} {
		var out bytes.Buffer
		if err := print(&out); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if s := accuracyClaim("json", out.String()); s != "" && !extent.IsWhole() {
			t.Fatalf("%s of a recording that is not whole claims: %s", what, s)
		}
	}
	complete := slices.ContainsFunc(m.Nodes, func(n model.MergeNode) bool { return n.Complete })
	if !extent.IsWhole() && (len(p.Doubts) == 0 || complete) {
		t.Fatal("the plan or the timeline is certain")
	}
}

// readAll passes the events of a recording to take, and returns how far they go.
func readAll(ctx context.Context, in io.Reader, take func(event.Event)) (recording.Extent, error) {
	source, err := recording.Open(in)
	if err != nil {
		return recording.Extent{}, err
	}
	err = source.Each(ctx, take)
	return source.Extent(), err
}

// numbered returns a recording as this tracer writes it.
func numbered(t testing.TB, file []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, "test")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	_, err = readAll(context.Background(), bytes.NewReader(file), func(e event.Event) {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
		if n++; n%40 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reported returns the report of a recording, as JSON.
func reported(t testing.TB, file []byte) []byte {
	t.Helper()
	tracker := attribution.New()
	if _, err := readAll(context.Background(), bytes.NewReader(file), tracker.Add); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.JSON(&out, tracker.Stream()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestDamagedRecordingsHaveNoExactFigure: a recording in which something was cut, flipped, swapped, doubled or
// overwritten is refused, or printed without a figure that is called exact, each kind of damage in every format; or
// nothing is missing, and its report is the same.
func TestDamagedRecordingsHaveNoExactFigure(t *testing.T) {
	for _, name := range []string{"advice.arrows.gz", "notebook.arrows.gz"} {
		file := numbered(t, unzipped(t, name))
		at, whole := framesOf(t, file), reported(t, file)
		prints(t, file, whole, false)
		for seed := range 10 * kinds {
			prints(t, mutate(rand.New(rand.NewPCG(uint64(seed), 1)), seed%kinds, file, at), whole, seed >= kinds)
		}
	}
}

// FuzzMutants prints anything as every command does, within bounds of memory and time.
func FuzzMutants(f *testing.F) {
	small := numbered(f, unzipped(f, "advice.arrows.gz"))
	at := framesOf(f, small)
	f.Add(small[:at[len(at)/4]])
	f.Add(small[:at[2]])
	hostile.Fuzz(f, 512<<20, func(t *testing.T, data []byte) { prints(t, data, nil, false) })
}

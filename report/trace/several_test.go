package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"ipytracer/model"
	"ipytracer/report/reporttest"
	"ipytracer/report/trace"
)

// parts yields the same report for two nodes, the second of which began later.
func parts(r *model.Report, later int64) iter.Seq2[trace.Part, error] {
	return func(yield func(trace.Part, error) bool) {
		_ = yield(trace.Part{Node: reporttest.Evil, Report: r}, nil) &&
			yield(trace.Part{Node: "b", FromNS: later, Report: r}, nil)
	}
}

// TestSeveral: the events of each node are those of its own trace, moved to its place, in processes of its own.
func TestSeveral(t *testing.T) {
	const later = int64(5e9 + 7)
	for name, make := range reporttest.Reports {
		var chrome, perfetto bytes.Buffer
		if err := trace.ChromeOf(&chrome, &model.Merge{}, parts(make(), later)); err != nil {
			t.Fatal(err)
		}
		own := chromeEvents(t, printed(t, trace.Chrome, make()))
		both := chromeEvents(t, chrome.Bytes())
		if len(own) > 0 && len(both) != 2*len(own) {
			t.Fatalf("%s: %d events, not twice %d", name, len(both), len(own))
		}
		for i, e := range own {
			a, b := both[i], both[len(own)+i]
			reporttest.CheckSafe(t, a.Name, "")
			if *a.PID == *b.PID || a.Phase != e.Phase || b.Name != e.Name || a.Length != e.Length ||
				e.Phase != "M" && (a.At != e.At || nanoseconds(t, b.At) != nanoseconds(t, e.At)+later) {
				t.Fatalf("%s: event %d is %+v, then %+v and %+v", name, i, e, a, b)
			}
		}
		if err := trace.PerfettoOf(&perfetto, parts(make(), later)); err != nil {
			t.Fatal(err)
		}
		tracks, events := decoded(t, perfetto.Bytes())
		nested(t, tracks, events)
		_, alone := decoded(t, printed(t, trace.Perfetto, make()))
		if len(events) != 2*len(alone) {
			t.Fatalf("%s: %d events of Perfetto's, not twice %d", name, len(events), len(alone))
		}
		for i, e := range alone {
			if a, b := events[i], events[len(alone)+i]; a.at != e.at || b.at != e.at+later || a.bytes != e.bytes ||
				b.bytes != e.bytes || a.track == b.track {
				t.Fatalf("%s: event %d is %+v, then %+v and %+v", name, i, e, a, b)
			}
		}
	}
}

// TestSeveralFail: the error of a report that cannot be read again is returned.
func TestSeveralFail(t *testing.T) {
	broken := errors.New("broken")
	none := func(yield func(trace.Part, error) bool) { yield(trace.Part{}, broken) }
	if err := trace.ChromeOf(io.Discard, &model.Merge{}, none); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := trace.PerfettoOf(io.Discard, none); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func chromeEvents(t *testing.T, data []byte) []chromeEvent {
	t.Helper()
	var got struct {
		Events []chromeEvent `json:"traceEvents"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	return got.Events
}

// nanoseconds reads a time in microseconds with three decimals.
func nanoseconds(t *testing.T, at json.Number) int64 {
	t.Helper()
	ns, err := json.Number(strings.Replace(at.String(), ".", "", 1)).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

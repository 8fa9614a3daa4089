package export_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"testing"

	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// parts yields the same report for two nodes, the second of which began later.
func parts(r *model.Report, later int64) iter.Seq2[export.Recording, error] {
	return func(yield func(export.Recording, error) bool) {
		_ = yield(export.Recording{Node: reporttest.Evil, Report: r}, nil) &&
			yield(export.Recording{Node: "b", FromNS: later, Report: r}, nil)
	}
}

// TestNodesOfAMergedTrace: the events of each node are those of its own trace, moved to its place, in processes of its
// own.
func TestNodesOfAMergedTrace(t *testing.T) {
	const later = int64(5e9 + 7)
	for name, make := range reporttest.Reports {
		var perfetto bytes.Buffer
		if err := export.PerfettoOf(&perfetto, parts(make(), later)); err != nil {
			t.Fatal(err)
		}
		tracks, events := decoded(t, perfetto.Bytes())
		nested(t, tracks, events)
		for _, one := range tracks {
			reporttest.CheckSafe(t, one.name, "")
		}
		_, alone := decoded(t, printed(t, export.Perfetto, make()))
		if len(events) != 2*len(alone) {
			t.Fatalf("%s: %d events of Perfetto's, not twice %d", name, len(events), len(alone))
		}
		for i, e := range alone {
			reporttest.CheckSafe(t, events[i].name, "")
			if a, b := events[i], events[len(alone)+i]; a.at != e.at || b.at != e.at+later || a.bytes != e.bytes ||
				b.bytes != e.bytes || a.name != b.name || tracks[a.track].pid == tracks[b.track].pid {
				t.Fatalf("%s: event %d is %+v, then %+v and %+v", name, i, e, a, b)
			}
		}
	}
}

// TestSeveralFail: the error of a report that cannot be read again is returned.
func TestSeveralFail(t *testing.T) {
	broken := errors.New("broken")
	none := func(yield func(export.Recording, error) bool) { yield(export.Recording{}, broken) }
	if err := export.PerfettoOf(io.Discard, none); !errors.Is(err, broken) {
		t.Error(err)
	}
}

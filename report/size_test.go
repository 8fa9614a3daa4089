package report_test

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"ipytracer/attribution"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// growing are printers with output that grows with the session.
var growing = map[string]func(io.Writer, *model.Report) error{
	"json": report.JSON, "csv": report.CSV, "allocations-csv": export.Allocations, "perfetto": export.Perfetto,
}

// TestSize: the announced size is exact to the byte for a short session, and right within a third for a long one.
func TestSize(t *testing.T) {
	long := attribution.New()
	attributiontest.Notebook(long.Add, 300, 12)
	for name, print := range growing {
		for what, r := range map[string]*model.Report{
			"rich": reporttest.Rich(), "hostile": reporttest.Hostile(), "nothing": {}, "long": long.Stream(),
		} {
			var b bytes.Buffer
			if err := print(&b, r); err != nil {
				t.Fatal(err)
			}
			got, err := report.Size(r, print)
			if err != nil {
				t.Fatal(err)
			}
			least, most := int64(b.Len()), int64(b.Len())
			if what == "long" {
				least, most = least*2/3, most*4/3
			}
			if got < least || got > most {
				t.Errorf("%s of %s: %d bytes were told, %d written", name, what, got, b.Len())
			}
		}
	}
}

// TestHeaviestTimeline: of the kept cells every point is there; of the rest the highest, and no more than two in a
// hundred.
func TestHeaviestTimeline(t *testing.T) {
	tracker := attribution.New()
	attributiontest.Notebook(tracker.Add, 300, 12)
	whole := tracker.Report()
	r := report.Heaviest(whole, 5, "cpu.resident")
	var kept []model.Window
	for w := range r.All() {
		if w.Kind == model.Cell {
			kept = append(kept, *w)
		}
	}
	in := func(ns int64) bool {
		return slices.ContainsFunc(kept, func(w model.Window) bool {
			return w.StartNS <= ns && ns <= w.StartNS+w.DurationNS
		})
	}
	var tracks []model.Track
	points := 0
	for one := range r.AllTimeline() {
		one := *one
		one.Points = slices.Clone(one.Points)
		tracks = append(tracks, one)
		points += len(one.Points)
	}
	if len(tracks) != len(whole.Timeline) || len(kept) != 5 {
		t.Fatalf("%d tracks of %d, %d cells", len(tracks), len(whole.Timeline), len(kept))
	}
	all := 0
	for i, one := range whole.Timeline {
		highest, got := int64(0), int64(0)
		for _, p := range one.Points {
			all++
			highest = max(highest, p.Bytes)
			if in(p.NS) && !slices.Contains(tracks[i].Points, p) {
				t.Errorf("%s at %d of a cell that is kept is gone", one.Meter, p.NS)
			}
		}
		for _, p := range tracks[i].Points {
			got = max(got, p.Bytes)
		}
		if n := len(one.Points); got != highest ||
			n > 0 && tracks[i].Points[len(tracks[i].Points)-1] != one.Points[n-1] {
			t.Errorf("%s has %d at most, not %d", one.Meter, got, highest)
		}
	}
	if points > all/4 {
		t.Errorf("%d points of %d are there", points, all)
	}
}

// TestHeaviestCellsAreKept: the cells that needed the most are there with their statements, the session and its
// experiments, all with the same figures.
func TestHeaviestCellsAreKept(t *testing.T) {
	whole := reporttest.Rich()
	r := report.Heaviest(whole, 2, "cpu.resident")
	var cells, lines, others []int
	for w := range r.AllPassing() {
		switch w.Kind {
		case model.Cell:
			cells = append(cells, w.Execution)
		case model.Statement:
			lines = append(lines, w.Parent)
		default:
			others = append(others, w.ID)
		}
	}
	slices.Sort(lines)
	if !slices.Equal(cells, []int{2, 3}) || !slices.Equal(slices.Compact(lines), []int{11, 12}) || len(others) != 4 {
		t.Errorf("cells %v, statements of %v, others %v", cells, lines, others)
	}
	between := 0
	for range r.AllBetween() {
		between++
	}
	if between != 2 || len(whole.Windows) == 0 ||
		report.Heaviest(whole, 1000, "x").Certificate.Finished != "interrupted" {
		t.Errorf("%d times between cells", between)
	}
}

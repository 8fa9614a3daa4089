package sheet_test

import (
	"iter"
	"strings"
	"testing"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// nodes returns three merged recordings, one way of placing a clock each, with texts from their machines.
func nodes(name, source string) *model.Merge {
	const second, mib = int64(1e9), int64(1 << 20)
	ns := func(n int64) *int64 { return &n }
	count := 3
	figure := model.Figure{Start: 100 * mib, Peak: 612 * mib, End: 140 * mib, Consumed: 40 * mib, Peaked: 472 * mib,
		Exact: true, Bound: ns(0)}
	bound := figure
	bound.Exact, bound.Bound = false, ns(mib)
	highest := &model.MergeHighest{PID: 42, Kernel: name, Figure: figure}
	host := model.Host{Name: name, Kernel: "6.18", CPUs: 2, Memory: 16 << 30, Tracer: name,
		Started: "2026-11-26T09:00:00Z"}
	return &model.Merge{
		Schema: model.MergeSchema, Started: "2026-11-26T09:00:00Z", Meter: "cpu.resident",
		Nodes: []model.MergeNode{
			{
				Name: name + "a", File: "/tmp/" + name, Host: host, ClockBy: model.ByReference, EarliestStart: ns(0),
				LatestStart: ns(0), EndNS: 60 * second, EarliestEnd: ns(60 * second), LatestEnd: ns(60 * second),
				Kernels: 2, Cells: 9, Failed: 1, Complete: true, Finished: "detached", Highest: highest,
			},
			{
				Name: name + "b", File: "b.arrows", Host: host, Clock: 1, ClockBy: model.ByMessages, Messages: 12,
				StartNS: second, EarliestStart: ns(second - 4e6), LatestStart: ns(second + 2e6), EndNS: 50 * second,
				EarliestEnd: ns(50*second - 9e6), LatestEnd: ns(50*second + 2e6), Kernels: 1, Cells: 3,
				Highest: &model.MergeHighest{PID: 42, Figure: bound}, Finished: name,
			},
			{
				Name: name + "c", File: "c.arrows", Host: host, Clock: 2, ClockBy: model.ByWallClock,
				StartNS: 2 * second, EndNS: 3 * second, Complete: true,
			},
		},
		Together: model.Together{Least: 612 * mib, Most: ns(1225 * mib), Standing: 900 * mib, StandingNS: 7 * second,
			Shares: []model.TogetherShare{{Node: 1, Bytes: 612 * mib}, {Node: 0, Bytes: 288 * mib}}},
		Cells: []model.MergeCell{
			{
				Node: 1, Window: 7, PID: 42, Execution: 3, ExecutionCount: &count, Status: model.OK, AtNS: 5 * second,
				DurationNS: second, Figure: bound, Source: source,
			},
			{
				Node: 0, Window: 2, PID: 42, Kernel: name, Execution: 1, Status: model.Error, AtNS: second,
				DurationNS: second, Figure: figure, Source: "x = 1",
			},
		},
		CellsUnlisted: 10, Doubts: []string{name + " was cut"},
	}
}

func none() iter.Seq2[*model.Report, error] { return func(func(*model.Report, error) bool) {} }

func mergeText(t *testing.T, m *model.Merge, o text.Options) string {
	t.Helper()
	return onTerminal(t, sheet.Merge(m, options(o)), o)
}

func TestMergeGolden(t *testing.T) {
	m := nodes("node-", "x = np.ones(n)\ny = x + 1")
	reporttest.Golden(t, "merge.txt", []byte(mergeText(t, m, text.Options{})))
	reporttest.Golden(t, "merge.json", reporttest.Merge(t, m, none()))
	m.Together.Most, m.Cells, m.Doubts = nil, nil, nil
	if shown := mergeText(t, m, text.Options{}); !strings.Contains(shown, "at most: not known") ||
		!strings.Contains(shown, "No cell ran.") || strings.Contains(shown, "Doubts") {
		t.Error(shown)
	}
}

// TestMergeOfAnything: hostile texts are shown safely, in lines that fit, and no source if there should be none.
func TestMergeOfAnything(t *testing.T) {
	m := nodes(reporttest.Evil+strings.Repeat("A", 300), reporttest.Evil+"secret")
	reporttest.CheckSafe(t, string(reporttest.Merge(t, m, none())), "\n")
	m.Doubts = nil // a word as long as a name of 300 characters is in one piece
	for _, width := range []int{60, 100, 200} {
		for line := range strings.Lines(mergeText(t, m, text.Options{Width: width, Full: true})) {
			if n := escape.Cells(strings.TrimSuffix(line, "\n")); n > width && len(strings.Fields(line)) > 3 {
				t.Errorf("%d cells of %d: %q", n, width, line)
			}
		}
	}
	without := report.MergeWithoutSource(m)
	if shown := mergeText(t, without, text.Options{Full: true}) + string(reporttest.Merge(t, without, none())); strings.
		Contains(shown, "secret") {
		t.Error("the source is there")
	}
}

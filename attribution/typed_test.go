package attribution_test

import (
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestSourcesAreBounded: a cell has its source, as far as there is room, and leaves nothing of it behind. Neither one
// long source nor many cells that are open at once take more.
func TestSourcesAreBounded(t *testing.T) {
	const most, all = 100, 1000
	monitor := attribution.NewMonitor()
	monitor.KeepSources(most, all)
	s := attributiontest.New(monitor.Add, 1)
	cell := uint64(0)
	run := func(source string) (text string, truncated bool) {
		cell++
		s.OpenCell(cell, 0, "<ipython-input-1-aaaa>", source)
		s.CloseCell(cell, event.OutcomeOK)
		monitor.Add(&event.Lull{})
		done := monitor.Finished()
		if len(done) != 1 {
			t.Fatalf("%d cells", len(done))
		}
		return done[0].Source, done[0].SourceTruncated
	}
	for range 1000 { // more than there is room for at once
		if text, truncated := run("x = 1\ny = 2"); text != "x = 1\ny = 2" || truncated {
			t.Fatalf("%q, %v", text, truncated)
		}
	}
	if text, truncated := run(strings.Repeat("é", most)); text != strings.Repeat("é", most/2) || !truncated {
		t.Errorf("%q, %v", text, truncated)
	}
	first := cell + 1
	for range 50 {
		cell++
		s.OpenCell(cell, 0, "<ipython-input-1-aaaa>", strings.Repeat("x", most))
	}
	for id := cell; id >= first; id-- {
		s.CloseCell(id, event.OutcomeOK)
	}
	monitor.Add(&event.Lull{})
	bytes, without := 0, 0
	for _, w := range monitor.Finished() {
		if bytes += len(w.Source); w.Source == "" && w.SourceTruncated {
			without++
		}
	}
	if bytes != all || without != 40 {
		t.Errorf("%d bytes of sources, %d cells without", bytes, without)
	}
	if text, _ := run("z = 3"); text != "z = 3" {
		t.Errorf("afterwards: %q", text)
	}
}

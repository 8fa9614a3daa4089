package attribution_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/reporttest"
)

// TestTimelineHasWindows checks that the start, the peak and the end of every window are in the timeline, in any
// session, with lost and late changes.
func TestTimelineHasWindows(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tracker := attribution.New()
			attributiontest.Anything(tracker.Add, seed, 600)
			r := tracker.Report()
			reporttest.Timeline(t, r)
			if seed%20 == 0 {
				reporttest.Report(t, r)
			}
		})
	}
}

// TestTimelineIsReplayed checks that the timeline is the same whether a boundary is processed at once, as live, or with
// the next event, as from a recording.
func TestTimelineIsReplayed(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(100) {
		var events []event.Event
		attributiontest.Anything(func(e event.Event) { events = append(events, e) }, seed, 600)
		random := rand.New(rand.NewPCG(seed, 1))
		live, replayed := attribution.New(), attribution.New()
		for _, e := range events {
			if _, isReading := e.(*event.Reading); !isReading && random.IntN(2) == 0 {
				live.Flush()
			}
			live.Add(e)
			replayed.Add(e)
		}
		want, got := live.Report(), replayed.Report()
		for i := range want.Timeline {
			if i >= len(got.Timeline) || !reflect.DeepEqual(want.Timeline[i], got.Timeline[i]) {
				t.Fatalf("seed %d: live %+v", seed, want.Timeline[i])
			}
		}
		if len(want.Timeline) == 0 || len(want.Timeline) != len(got.Timeline) {
			t.Errorf("seed %d: %d tracks live, %d replayed", seed, len(want.Timeline), len(got.Timeline))
		}
	}
}

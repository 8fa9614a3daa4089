package attribution_test

import (
	"fmt"
	"testing"

	"ipytracer/attribution"
	"ipytracer/attribution/attributiontest"
	"ipytracer/report/reporttest"
)

// TestTimelineHasWindows: the start, the peak and the end of every window are in the timeline, whatever a session does, loses and hears late.
func TestTimelineHasWindows(t *testing.T) {
	for seed := range uint64(200) {
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

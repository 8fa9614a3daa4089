package ledger

import (
	"testing"
	"time"
)

// TestMissedEvents: an event that a copy missed is lost only if the others missed it at the same time, too, even if a
// look comes in between.
func TestMissedEvents(t *testing.T) {
	type seen [][]uint64 // by tracepoint, by copy
	for name, c := range map[string]struct {
		looks []seen // one stretch apart
		last  seen   // at the query
		want  uint64
	}{
		"one copy":                     {nil, seen{{3}}, 3},
		"the others saw it":            {nil, seen{{31, 0, 3}}, 0},
		"nobody saw two":               {nil, seen{{31, 2, 3}}, 2},
		"of two tracepoints":           {nil, seen{{7, 4, 2}, {9, 1}}, 3},
		"at other times":               {[]seen{{{5, 0}}, {{5, 0}}, {{5, 4}}}, seen{{5, 4}}, 0},
		"a look in between":            {[]seen{{{0, 0}}, {{1, 0}}}, seen{{1, 1}}, 1},
		"a look in between, long ago":  {[]seen{{{1, 0}}, {{1, 1}}, {{1, 1}}, {{1, 1}}}, seen{{1, 1}}, 1},
		"within two stretches: twice":  {[]seen{{{0, 0}}, {{2, 2}}, {{2, 2}}, {{2, 2}}}, seen{{2, 2}}, 4},
		"counts of before are of then": {[]seen{{{9, 9}}, {{9, 9}}, {{9, 9}}}, seen{{10, 9}}, 18},
	} {
		var e missedEvents
		now := time.Now()
		for _, s := range c.looks {
			e.count(now, func() [][]uint64 { return s })
			e.count(now.Add(lookApart-1), func() [][]uint64 { t.Error("a look too early"); return s })
			now = now.Add(lookApart)
		}
		if got := e.bound(func() [][]uint64 { return c.last }); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

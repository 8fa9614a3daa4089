package windows

import (
	"ipytracer/event"
	"ipytracer/model"
)

// CountersOf returns a copy of a boundary's counters, nil if it has none.
func CountersOf(b *event.Boundary) *event.Counters {
	if b.Counters == (event.Counters{}) {
		return nil
	}
	kept := b.Counters
	return &kept
}

// Counters returns the counts of a window, nil if there are none.
func (d *Detail) Counters() *model.Counters {
	if d.OpenCounters == nil || d.CloseCounters == nil {
		return nil
	}
	of := func(c event.Counter) int64 { return d.CloseCounters.Since(d.OpenCounters, c) }
	return &model.Counters{
		MinorFaults: of(event.MinorFaults), MajorFaults: of(event.MajorFaults), Waits: of(event.Waits),
		Preemptions:  of(event.Preemptions),
		Instructions: of(event.Instructions), Cycles: of(event.Cycles), CacheReferences: of(event.CacheReferences),
		CacheMisses: of(event.CacheMisses),
	}
}

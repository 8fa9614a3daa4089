package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
)

// countersOf returns a copy of a boundary's counters, nil if it has none.
func countersOf(b *event.Boundary) *event.Counters {
	if b.Counters == (event.Counters{}) {
		return nil
	}
	kept := b.Counters
	return &kept
}

// counters returns the counts of a window, nil if there are none.
func (d *detail) counters() *model.Counters {
	if d.openCounters == nil || d.closeCounters == nil {
		return nil
	}
	of := func(c event.Counter) int64 { return d.closeCounters.Since(d.openCounters, c) }
	return &model.Counters{
		MinorFaults: of(event.MinorFaults), MajorFaults: of(event.MajorFaults), Waits: of(event.Waits),
		Preemptions:  of(event.Preemptions),
		Instructions: of(event.Instructions), Cycles: of(event.Cycles), CacheReferences: of(event.CacheReferences),
		CacheMisses: of(event.CacheMisses),
	}
}

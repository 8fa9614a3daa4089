package attribution

import (
	"ipytracer/event"
	"ipytracer/model"
)

// countersOf keeps what a boundary counted, nil if it did not.
func countersOf(b *event.Boundary) *event.Counters {
	if b.Counters == (event.Counters{}) {
		return nil
	}
	kept := b.Counters
	return &kept
}

// counters are what was counted in a window, nil where nothing was.
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

package reporttest

import "ipytracer/model"

// Counted returns a session that counts: a cell with all counters, one without the processor's, and one without any.
func Counted() *model.Report {
	r := Empty()
	for i, c := range []*model.Counters{
		{
			MinorFaults: 65_540, MajorFaults: 3, Waits: 12, Preemptions: 1, Instructions: 3_000_000_000,
			Cycles: 2_000_000_000, CacheReferences: 1_000_000, CacheMisses: 25_000,
		},
		{
			MinorFaults: 0, MajorFaults: 0, Waits: 1, Preemptions: 0, Instructions: -1, Cycles: -1, CacheReferences: -1,
			CacheMisses: -1,
		},
		nil,
	} {
		w := CellWindow(2+i, 1+i, "work()")
		w.Meters = All(Fig(100*MiB, 120*MiB, 110*MiB), Fig(GiB, GiB, GiB), Fig(0, 0, 0))
		w.Counters = c
		r.Windows = append(r.Windows, w)
	}
	return r
}

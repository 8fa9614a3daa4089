package model

// Figure is one meter in one window, in bytes.
type Figure struct {
	Start    int64 `json:"start"`
	Peak     int64 `json:"peak"`
	End      int64 `json:"end"`
	Consumed int64 `json:"consumed"` // end − start
	Peaked   int64 `json:"peaked"`   // peak − max(start, end)
	Exact    bool  `json:"exact"`
	// Bound is how far a figure can be off, in bytes: 0 if exact, null if unknown.
	Bound *int64 `json:"bound"`
	// Accuracy is [CountedInProcess] where the process itself has counted a part of the figure, "" elsewhere.
	Accuracy string `json:"accuracy,omitempty"`
}

// CountedInProcess marks figures that are exact by the word of the process, which has counted a part of them itself.
const CountedInProcess = "counted"

// Need returns the memory that had to be available on top of the start: peak − start.
func (f Figure) Need() int64 { return f.Peak - f.Start }

// Equal reports whether two figures have the same values.
func (f Figure) Equal(other Figure) bool {
	same := f.Bound == other.Bound || f.Bound != nil && other.Bound != nil && *f.Bound == *other.Bound
	f.Bound, other.Bound = nil, nil
	return same && f == other
}

// Own returns figures without what a forked process shares with its parent at the end: shared, by meter. Both may be
// nil. At the start it shared what it has copied since, too. The peak is taken to be after the copies.
func Own(figures map[string]Figure, shared map[string]int64) map[string]Figure {
	if len(shared) == 0 {
		return figures
	}
	out, copied := make(map[string]Figure, len(figures)), figures["cpu.resident.copied"]
	for id, f := range figures {
		less := func(n int64) int64 { return max(0, n-shared[id]) }
		f.Start, f.Peak, f.End = less(f.Start), less(f.Peak), less(f.End)
		if id == "cpu.resident" || id == "cpu.resident.anon" {
			f.Start = max(0, f.Start-copied.Peak+copied.Start)
		}
		f.Consumed, f.Peaked = f.End-f.Start, f.Peak-max(f.Start, f.End)
		out[id] = f
	}
	return out
}

package windows

// Note keeps the id of an experiment that has closed.
func (e *Experiments) Note(id int) {
	e.Endings++
	if len(e.ended) < MaxEnded {
		e.ended = append(e.ended, int32(id))
		return
	}
	e.ended[(e.Endings-1)%MaxEnded] = int32(id)
}

// Last returns the id of the one that closed last, 0 for none.
func (e *Experiments) Last() int {
	if e.Endings == 0 {
		return 0
	}
	return int(e.ended[(e.Endings-1)%MaxEnded])
}

// After returns the ids of those that have closed since the first n did, and the number of those that are not known any
// more.
func (e *Experiments) After(n int) (ids []int32, lost int) {
	n = min(max(n, 0), e.Endings)
	lost = max(0, e.Endings-len(e.ended)-n)
	for i := n + lost; i < e.Endings; i++ {
		ids = append(ids, e.ended[i%MaxEnded])
	}
	return ids, lost
}

// Experiments are the open experiments of a process.
type Experiments struct {
	ByName map[string][]*Window // innermost last
	Open   int
	// Refused has the names of experiments that were not opened, with their number, each innermost of its name;
	// crowded: some of these are not known.
	Refused map[string]int
	Crowded bool
	// ended has the ids of those that closed last, in the order in which they closed; endings is the number of all.
	ended   []int32
	Endings int
}

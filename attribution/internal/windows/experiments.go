package windows

// Note records the id of an experiment that has closed.
func (e *Experiments) Note(id int) {
	e.Endings++
	if len(e.ended) < MaxEnded {
		e.ended = append(e.ended, int32(id))
		return
	}
	e.ended[(e.Endings-1)%MaxEnded] = int32(id)
}

// Last returns the id of the experiment that closed last, 0 for none.
func (e *Experiments) Last() int {
	if e.Endings == 0 {
		return 0
	}
	return int(e.ended[(e.Endings-1)%MaxEnded])
}

// After returns, in the order of closing, the ids of the experiments that closed after the first n. lost counts the
// experiments among them whose ids are not kept any more.
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
	// Refused counts, by name, the experiments that were not opened, each inside the open ones of its name.
	Refused map[string]int
	Crowded bool // Refused is not complete
	// ended is a ring of the ids of the MaxEnded experiments that closed last: number n (from 0) is at n % MaxEnded.
	ended   []int32
	Endings int // number of experiments that closed
}

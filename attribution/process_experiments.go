package attribution

// note keeps the id of an experiment that has closed.
func (e *experiments) note(id int) {
	e.endings++
	if len(e.ended) < maxEnded {
		e.ended = append(e.ended, int32(id))
		return
	}
	e.ended[(e.endings-1)%maxEnded] = int32(id)
}

// last returns the id of the one that closed last, 0 for none.
func (e *experiments) last() int {
	if e.endings == 0 {
		return 0
	}
	return int(e.ended[(e.endings-1)%maxEnded])
}

// after returns the ids of those that have closed since the first n did, and the number of those that are not known any
// more.
func (e *experiments) after(n int) (ids []int32, lost int) {
	n = min(max(n, 0), e.endings)
	lost = max(0, e.endings-len(e.ended)-n)
	for i := n + lost; i < e.endings; i++ {
		ids = append(ids, e.ended[i%maxEnded])
	}
	return ids, lost
}

// experiments are the open experiments of a process.
type experiments struct {
	byName map[string][]*window // innermost last
	open   int
	// refused has the names of experiments that were not opened, with their number, each innermost of its name;
	// crowded: some of these are not known.
	refused map[string]int
	crowded bool
	// ended has the ids of those that closed last, in the order in which they closed; endings is the number of all.
	ended   []int32
	endings int
}

package main

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// The meters that are compared.
var (
	resident = event.Resident.String()
	mapped   = event.Mapped.String()
)

func (p peak) truth() map[string]int64 {
	return map[string]int64{resident: p.resident, mapped: p.mapped}
}

// top returns the pid of the first process.
func (s *session) top() int {
	for _, p := range s.report.Processes {
		if p.Parent == 0 {
			return p.PID
		}
	}
	return 0
}

// window returns the session's own window.
func (s *session) window() *model.Window {
	for i := range s.report.Windows {
		if w := &s.report.Windows[i]; w.Kind == model.Session {
			return w
		}
	}
	return &model.Window{}
}

// highest returns the highest memory of each process in its whole life: the first one reports it in every round.
func (s *session) highest() []peak {
	most := map[int]peak{}
	for _, p := range s.peaks {
		m := most[p.pid]
		most[p.pid] = peak{pid: p.pid, resident: max(m.resident, p.resident), mapped: max(m.mapped, p.mapped)}
	}
	return slices.SortedFunc(maps.Values(most), func(a, b peak) int { return cmp.Compare(a.pid, b.pid) })
}

// tree returns the memory of the processes of a round together when all were at their highest, in the round with the
// most. Memory that a forked process has from its parent counts once, with the parent.
func (s *session) tree() map[string]int64 {
	type sum struct{ resident, mapped int64 }
	rounds := map[int]sum{}
	for _, p := range s.peaks {
		r, born := rounds[p.round], s.lives.born[int32(p.pid)]
		rounds[p.round] = sum{r.resident + p.resident - int64(born[event.Resident]),
			r.mapped + p.mapped - int64(born[event.Mapped])}
	}
	most := map[string]int64{}
	for _, r := range rounds {
		most[resident], most[mapped] = max(most[resident], r.resident), max(most[mapped], r.mapped)
	}
	return most
}

// compareTree compares the memory of all processes together.
func (r *Result) compareTree(s *session) {
	bounds := map[string]int64{}
	for _, p := range s.report.Processes {
		for _, meter := range []string{resident, mapped} {
			bounds[meter] += boundOf(p.Meters[meter])
		}
	}
	for meter, expected := range s.tree() {
		f, _ := s.window().Together(meter)
		r.compare(meter+" of the tree", expected, f, bounds[meter])
	}
}

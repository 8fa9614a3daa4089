package plan

import (
	"cmp"
	"slices"

	"ipytracer/model"
)

// outcome is the result of doing without some lines.
type outcome struct {
	fall int64 // by how much the highest moment is lower
	then *model.PlanPlace
}

// set is a set of lines. The line that saves most by itself comes first.
type set struct {
	lines []place
	outcome
}

// worthShare divides the need: a further line must save this share to be named.
const worthShare = 100

// highestWithout returns the index and the height of the highest moment if the memory of some candidates is subtracted.
func (y *weighing) highestWithout(out ...int) (at, peak int64) {
	at, peak = -1, -1
	for i := range y.moments.all {
		m := &y.moments.all[i]
		if m.peak <= peak { // all further moments are lower still
			break
		}
		left := m.peak
		for _, line := range out {
			left -= m.shares[line]
		}
		if left > peak {
			at, peak = int64(i), left
		}
	}
	return at, peak
}

// outcome returns the result of doing without some candidates.
func (y *weighing) outcome(x *reader, out ...int) outcome {
	at, peak := y.highestWithout(out...)
	if at < 0 {
		return outcome{}
	}
	o := outcome{fall: max(0, y.standing.d.top[0].peak-max(peak, y.least))}
	if m := &y.moments.all[at]; !m.gap {
		then := m.at
		then.Peak, then.Children = max(0, peak), min(then.Children, max(0, peak))
		then.Source = x.text(then.PID, place{execution: then.Execution, line: then.Line})
		o.then = &then
	}
	return o
}

// best returns the one, two or three candidates without which the highest moment is lowest. It adds a second or third
// candidate only if that one saves enough in addition.
func (y *weighing) best(x *reader) *set {
	n := len(y.standing.lines)
	worth := max(mib, y.standing.d.top[0].peak/worthShare)
	lowest, chosen := y.standing.d.top[0].peak-worth+1, []int(nil)
	for size := 1; size <= maxNamedLines; size++ {
		found, without := lowest, []int(nil)
		eachChoice(n, size, func(out []int) {
			if _, peak := y.highestWithout(out...); max(peak, y.least) < found {
				found, without = max(peak, y.least), slices.Clone(out)
			}
		})
		if without != nil {
			chosen, lowest = without, found-worth+1
		}
	}
	if chosen == nil {
		return nil
	}
	slices.SortStableFunc(chosen, func(a, b int) int { return cmp.Compare(y.fall(b), y.fall(a)) })
	s := &set{outcome: y.outcome(x, chosen...)}
	for _, line := range chosen {
		s.lines = append(s.lines, y.standing.lines[line])
	}
	return s
}

func (y *weighing) fall(line int) int64 {
	_, peak := y.highestWithout(line)
	return y.standing.d.top[0].peak - peak
}

// eachChoice calls visit with every choice of size numbers below n, in ascending order.
func eachChoice(n, size int, visit func([]int)) {
	chosen := make([]int, 0, size)
	var choose func(from int)
	choose = func(from int) {
		if len(chosen) == size {
			visit(chosen)
			return
		}
		for i := from; i < n; i++ {
			chosen = append(chosen, i)
			choose(i + 1)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0)
}

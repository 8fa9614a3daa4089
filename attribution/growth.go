package attribution

import (
	"math"
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// minRuns is from how many runs of a cell on it can be said to grow.
const minRuns = 3

// growthOf fits what each run of a cell left behind, nil where it does not grow. It grows if every one of at least
// three runs left something, or so many that 95 % confidence of a mean above zero is reached, the early runs among
// them. What is kept for a while only (the last result, the last few of a bounded queue) has nothing left of its first
// runs.
func growthOf(runs []*window, leftBy map[*window]event.Bytes) *model.Growth {
	n := len(runs)
	if n < minRuns {
		return nil
	}
	left, early, prefix, sum := 0, 0, 0, 0.0
	for i, w := range runs {
		if leftBy[w] > 0 {
			left++
			if i < (n+3)/4 {
				early++
			}
		} else if prefix == i {
			prefix++
		}
		sum += float64(leftBy[w])
	}
	mean, squares := sum/float64(n), 0.0
	for _, w := range runs {
		squares += (float64(leftBy[w]) - mean) * (float64(leftBy[w]) - mean)
	}
	half := student(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	if left < n {
		bounded := prefix+left == n
		if left < minRuns || n < 2*minRuns || bounded || mean <= half || 2*early*n < left*((n+3)/4) {
			return nil
		}
	}
	return &model.Growth{Runs: n, Slope: round(mean), Low: round(mean - half), High: round(mean + half)}
}

// mappedAfter is what a site has of what all runs of its cell mapped, after each of them. An allocator gives memory
// back when the last object in it goes, and makes new objects where old ones were: so at the end each run's memory can
// be there, all of it in use by what the last run made, and no run have added to what there is.
func (j *judge) mappedAfter(s *site, runs []*window, leftBy map[*window]event.Bytes) []event.Bytes {
	number, after, total := make(map[*window]int, len(runs)), make([]event.Bytes, len(runs)), event.Bytes(0)
	for i, w := range runs {
		number[w] = i
		total += leftBy[w]
		after[i] = total
	}
	for _, p := range j.unmapped()[s.siteKey] {
		i, known := number[p.run]
		for ; known && i < len(runs) && !runs[i].isOpen && runs[i].closed <= p.at; i++ {
			after[i] += p.bytes
		}
	}
	return after
}

// unmapped is what went of what each site mapped.
func (j *judge) unmapped() map[siteKey][]went {
	if j.went == nil {
		j.went = map[siteKey][]went{}
		names := newSurvivors(j.t)
		for key, bytes := range j.audit.departures.unmapped {
			of := names.site(key.pid, event.Mapped, key.stack, key.birth).siteKey
			j.went[of] = append(j.went[of], went{key.birth.cell, key.in.opened, bytes})
		}
	}
	return j.went
}

// riseOf is by how much values rise with each: the median over half of them, from each to the one that is as far behind
// it.
func riseOf(values []event.Bytes) event.Bytes {
	apart := len(values) / 2
	if apart == 0 {
		return 0
	}
	var rises []event.Bytes
	for i := range len(values) - apart {
		rises = append(rises, (values[i+apart]-values[i])/event.Bytes(apart))
	}
	slices.Sort(rises)
	return rises[(len(rises)-1)/2]
}

func round(x float64) int64 { return int64(math.Round(x)) }

// student is the two-sided 95 % quantile of Student's t distribution, for so many degrees of freedom.
func student(freedom int) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
		2.145, 2.131}
	if freedom <= len(table) {
		return table[max(freedom, 1)-1]
	}
	// The first terms of its expansion around the normal distribution's quantile, right to 0.001 from here on.
	const z = 1.959964
	f := float64(freedom)
	return z + (z*z*z+z)/(4*f) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*f*f)
}

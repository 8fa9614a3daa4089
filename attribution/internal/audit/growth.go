package audit

import (
	"math"
	"slices"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// minRuns is the least number of runs of a cell that can show growth.
const minRuns = 3

// growthOf fits the bytes that each run of a cell left behind; nil if the cell does not grow. It grows if each of at
// least three runs left something, or if enough did to reach 95 % confidence of a mean above zero, the early runs among
// them. For memory that is kept for a while only (the last result, the last few of a bounded queue), the first runs
// have left nothing.
func growthOf(runs []*windows.Window, leftBy map[*windows.Window]event.Bytes) *model.Growth {
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
	half := Student(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	if left < n {
		bounded := prefix+left == n
		if left < minRuns || n < 2*minRuns || bounded || mean <= half || 2*early*n < left*((n+3)/4) {
			return nil
		}
	}
	return &model.Growth{Runs: n, Slope: round(mean), Low: round(mean - half), High: round(mean + half)}
}

// mappedAfter returns, after each run of a site's cell, the bytes left of those that all runs had mapped. An allocator
// unmaps memory when the last object in it is freed, and puts new objects where old ones were. So at the end each run's
// memory may still be mapped, all of it used by objects of the last run, although no run has added to the total.
func (j *judge) mappedAfter(s *Site, runs []*windows.Window, leftBy map[*windows.Window]event.Bytes) []event.Bytes {
	number, after, total := make(map[*windows.Window]int, len(runs)), make([]event.Bytes, len(runs)), event.Bytes(0)
	for i, w := range runs {
		number[w] = i
		total += leftBy[w]
		after[i] = total
	}
	for _, p := range j.unmapped()[s.siteKey] {
		i, known := number[p.run]
		for ; known && i < len(runs) && !runs[i].IsOpen && runs[i].Closed <= p.at; i++ {
			after[i] += p.bytes
		}
	}
	return after
}

// unmapped returns the unmapped parts of the ranges that each site mapped.
func (j *judge) unmapped() map[siteKey][]went {
	if j.went == nil {
		j.went = map[siteKey][]went{}
		names := NewSurvivors(j.t)
		for key, bytes := range j.audit.departures.unmapped {
			of := names.Site(key.pid, event.Mapped, key.stack, key.birth).siteKey
			j.went[of] = append(j.went[of], went{key.birth.Cell, key.in.Opened, bytes})
		}
	}
	return j.went
}

// riseOf returns by how much values rise from each to the next: the median over half of them, each compared with the
// one that is half the list behind it.
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

// Student returns the two-sided 95 % quantile of Student's t distribution for a number of degrees of freedom.
func Student(freedom int) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
		2.145, 2.131}
	if freedom <= len(table) {
		return table[max(freedom, 1)-1]
	}
	// The first terms of the expansion around the normal distribution's quantile, correct to 0.001 from here on.
	const z = 1.959964
	f := float64(freedom)
	return z + (z*z*z+z)/(4*f) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*f*f)
}

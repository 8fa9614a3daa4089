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

// growthOf returns the mean of the bytes that each run of a cell left behind, with its confidence interval; nil if the
// cell does not grow. It grows if each of at least minRuns runs left something. It also grows if not all runs did, but
// the mean is above zero with 95 % confidence, and early runs left something, too. Memory that is kept only for a while
// (the last result, a bounded queue) does not count: of it, the first runs have nothing left.
func growthOf(runs []*windows.Window, leftBy map[*windows.Window]event.Bytes) *model.Growth {
	n := len(runs)
	if n < minRuns {
		return nil
	}
	leaving, early, leadingNone, sum := 0, 0, 0, 0.0
	for i, w := range runs {
		if leftBy[w] > 0 {
			leaving++
			if i < (n+3)/4 {
				early++
			}
		} else if leadingNone == i {
			leadingNone++
		}
		sum += float64(leftBy[w])
	}
	mean, squares := sum/float64(n), 0.0
	for _, w := range runs {
		squares += (float64(leftBy[w]) - mean) * (float64(leftBy[w]) - mean)
	}
	margin := Student(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	if leaving < n {
		bounded := leadingNone+leaving == n
		if leaving < minRuns || n < 2*minRuns || bounded || mean <= margin || 2*early*n < leaving*((n+3)/4) {
			return nil
		}
	}
	return &model.Growth{Runs: n, Slope: round(mean), Low: round(mean - margin), High: round(mean + margin)}
}

// mappedAfter returns, for each run of a site's cell, the bytes that were still mapped after the run, of the memory
// that all runs up to it had mapped. The bytes that each run left at the end do not show growth: an allocator puts new
// objects into old memory, so all memory may be in use by objects of the last run, although the total never grew.
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

// unmapped returns, by site, the parts of the site's ranges that were unmapped in a later cell.
func (j *judge) unmapped() map[siteKey][]unmappedPart {
	if j.unmappedOf == nil {
		j.unmappedOf = map[siteKey][]unmappedPart{}
		names := NewSurvivors(j.t)
		for key, bytes := range j.audit.departures.unmapped {
			site := names.Site(key.pid, event.Mapped, key.stack, key.birth).siteKey
			j.unmappedOf[site] = append(j.unmappedOf[site], unmappedPart{key.birth.Cell, key.in.Opened, bytes})
		}
	}
	return j.unmappedOf
}

// riseOf returns the typical rise from a value to the next one: the median of the slopes between pairs of values that
// are half the list apart.
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

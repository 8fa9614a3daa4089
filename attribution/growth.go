package attribution

import (
	"math"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// minRuns is from how many runs of a cell on it can be said to grow.
const minRuns = 3

// growthOf fits what each run of a cell left behind, nil where it does not grow. It grows if every one of at least three
// runs left something, or so many that 95 % confidence of a mean above zero is reached, the early runs among them. What is
// kept for a while only (the last result, the last few of a bounded queue) has nothing left of its first runs.
func growthOf(runs []*window, leftBy map[*window]event.Bytes) *report.Growth {
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
	return &report.Growth{Runs: n, Slope: round(mean), Low: round(mean - half), High: round(mean + half)}
}

func round(x float64) int64 { return int64(math.Round(x)) }

// student is the two-sided 95 % quantile of Student's t distribution, for so many degrees of freedom.
func student(freedom int) float64 {
	table := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131}
	if freedom <= len(table) {
		return table[max(freedom, 1)-1]
	}
	// The first terms of its expansion around the normal distribution's quantile, right to 0.001 from here on.
	const z = 1.959964
	f := float64(freedom)
	return z + (z*z*z+z)/(4*f) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*f*f)
}

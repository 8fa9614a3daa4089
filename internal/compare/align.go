package compare

import (
	"cmp"
	"slices"
)

// match has the indices of an element of A and of the matching one of B; −1 for none.
type match struct{ a, b int }

// maxTable is the largest product of two lengths for which longestCommon builds its table. Longer lists are split at
// the elements that occur once.
const maxTable = 4 << 20

// align finds a long common subsequence of two lists, in order. It matches their common beginning and end, then the
// elements that occur once in both (as patience diff does), and between these the longest common subsequence, if the
// lists are not too long for it.
func align(a, b []uint64) []match { return alignAt(a, b, 0, 0, nil) }

func alignAt(a, b []uint64, i, j int, found []match) []match {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		found = append(found, match{i, j})
		a, b, i, j = a[1:], b[1:], i+1, j+1
	}
	tail := 0
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	endA, endB := i+len(a)-tail, j+len(b)-tail
	a, b = a[:len(a)-tail], b[:len(b)-tail]
	if len(a) > 0 && len(b) > 0 {
		if len(a)*len(b) <= maxTable {
			found = longestCommon(a, b, i, j, found)
		} else {
			found = alignAnchored(a, b, i, j, found)
		}
	}
	for k := range tail {
		found = append(found, match{endA + k, endB + k})
	}
	return found
}

// alignAnchored aligns the stretches between the elements that occur exactly once in each list.
func alignAnchored(a, b []uint64, i, j int, found []match) []match {
	type occurrence struct{ countA, countB, lastB int }
	occurrences := map[uint64]*occurrence{}
	of := func(h uint64) *occurrence {
		if occurrences[h] == nil {
			occurrences[h] = &occurrence{}
		}
		return occurrences[h]
	}
	for _, h := range a {
		of(h).countA++
	}
	for k, h := range b {
		o := of(h)
		o.lastB, o.countB = k, o.countB+1
	}
	var once []match
	for k, h := range a {
		if o := occurrences[h]; o.countA == 1 && o.countB == 1 {
			once = append(once, match{k, o.lastB})
		}
	}
	anchors := longestRising(once)
	if len(anchors) == 0 {
		return alignInTurn(a, b, i, j, found)
	}
	fromA, fromB := 0, 0
	for _, m := range anchors {
		if m.a < fromA || m.b < fromB {
			continue
		}
		found = alignAt(a[fromA:m.a], b[fromB:m.b], i+fromA, j+fromB, found)
		found = append(found, match{i + m.a, j + m.b})
		fromA, fromB = m.a+1, m.b+1
	}
	return alignAt(a[fromA:], b[fromB:], i+fromA, j+fromB, found)
}

// longestRising returns the longest subsequence of matches in which b rises. The matches are ordered by a.
func longestRising(matches []match) []match {
	var ends []int                      // by length: the last match of the best subsequence of this length
	before := make([]int, len(matches)) // by match: the match before it in its best subsequence
	for i, m := range matches {
		n, _ := slices.BinarySearchFunc(ends, m.b, func(at, b int) int { return cmp.Compare(matches[at].b, b) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	out := make([]match, len(ends))
	if len(ends) == 0 {
		return out
	}
	for i, n := ends[len(ends)-1], len(ends)-1; n >= 0; i, n = before[i], n-1 {
		out[n] = matches[i]
	}
	return out
}

// longestCommon adds the longest common subsequence to found, by the textbook's dynamic programming. The lists begin at
// i in A and at j in B.
func longestCommon(a, b []uint64, i, j int, found []match) []match {
	width := len(b) + 1
	best := make([]int32, (len(a)+1)*width) // at [x*width+y]: the length for a[x:] and b[y:]
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] == b[y] {
				best[x*width+y] = best[(x+1)*width+y+1] + 1
			} else {
				best[x*width+y] = max(best[(x+1)*width+y], best[x*width+y+1])
			}
		}
	}
	for x, y := 0, 0; x < len(a) && y < len(b); {
		switch {
		case a[x] == b[y]:
			found = append(found, match{i + x, j + y})
			x, y = x+1, y+1
		case best[(x+1)*width+y] >= best[x*width+y+1]:
			x++
		default:
			y++
		}
	}
	return found
}

// alignInTurn aligns long lists without elements that occur once, in one pass: it matches each element of a with the
// next equal element of b.
func alignInTurn(a, b []uint64, i, j int, found []match) []match {
	left := map[uint64][]int{} // indices in b that may still be matched
	for k, h := range b {
		left[h] = append(left[h], k)
	}
	next := 0
	for k, h := range a {
		n, _ := slices.BinarySearch(left[h], next)
		if left[h] = left[h][n:]; len(left[h]) == 0 {
			continue
		}
		at := left[h][0]
		surplus := max(0, (len(b)-next)-(len(a)-k)) // elements of b without a counterpart
		if at-next > surplus+maxSkip {
			continue
		}
		found = append(found, match{i + k, j + at})
		next = at + 1
	}
	return found
}

// maxSkip bounds how many elements of b a match of alignInTurn may skip, beyond those that have no counterpart anyway.
const maxSkip = 64

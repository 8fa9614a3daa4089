package compare

import (
	"cmp"
	"slices"
)

// match is a cell of A and the matching one of B; −1 for none.
type match struct{ a, b int }

// exactly is the most pairs of a stretch that is compared cell by cell, in a table: larger ones are split at the
// elements that occur once.
const exactly = 4 << 20

// align finds a long common subsequence of two lists: their common beginning and end, the elements that occur once in
// both (as in patience diff), and between those the longest common subsequence, where that does not take too long. The
// result is in order.
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
		if len(a)*len(b) <= exactly {
			found = longest(a, b, i, j, found)
		} else {
			found = anchored(a, b, i, j, found)
		}
	}
	for k := range tail {
		found = append(found, match{endA + k, endB + k})
	}
	return found
}

// anchored aligns the stretches between the elements that occur once in each list.
func anchored(a, b []uint64, i, j int, found []match) []match {
	type place struct{ a, b, inA, inB int }
	places := map[uint64]*place{}
	at := func(h uint64) *place {
		if places[h] == nil {
			places[h] = &place{}
		}
		return places[h]
	}
	for k, h := range a {
		p := at(h)
		p.a, p.inA = k, p.inA+1
	}
	for k, h := range b {
		p := at(h)
		p.b, p.inB = k, p.inB+1
	}
	var once []match
	for k, h := range a {
		if p := places[h]; p.inA == 1 && p.inB == 1 {
			once = append(once, match{k, p.b})
		}
	}
	anchors := rising(once)
	if len(anchors) == 0 {
		return inTurn(a, b, i, j, found)
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

// rising returns the longest part of some matches, ordered by a, in which b rises, too.
func rising(all []match) []match {
	var ends []int // the last of the best of each length
	before := make([]int, len(all))
	for i, m := range all {
		n, _ := slices.BinarySearchFunc(ends, m.b, func(at, b int) int { return cmp.Compare(all[at].b, b) })
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
		out[n] = all[i]
	}
	return out
}

// longest adds the longest common subsequence, by the textbook's algorithm.
func longest(a, b []uint64, i, j int, found []match) []match {
	width := len(b) + 1
	best := make([]int32, (len(a)+1)*width) // length of the best that begins here
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

// inTurn matches a long stretch of repeated elements in one pass: each element with the next equal one.
func inTurn(a, b []uint64, i, j int, found []match) []match {
	where := map[uint64][]int{}
	for k, h := range b {
		where[h] = append(where[h], k)
	}
	next := 0
	for k, h := range a {
		all := where[h]
		n, _ := slices.BinarySearch(all, next)
		if where[h] = all[n:]; n == len(all) || all[n]-next > max(0, len(b)-next-(len(a)-k))+exactlyAhead {
			continue
		}
		found = append(found, match{i + k, j + all[n]})
		next = all[n] + 1
	}
	return found
}

// exactlyAhead is how many elements a match may skip that are still to be matched.
const exactlyAhead = 64

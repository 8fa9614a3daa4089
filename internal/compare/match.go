package compare

import (
	"slices"

	"ipytracer/model"
)

// pair is a row of the comparison: a match of cells, and how the cell changed.
type pair struct {
	match
	change string
}

// pairs matches the cells of A with those of B, kernel by kernel, in B's order.
func pairs(a, b *Run) []pair {
	inA, inB := kernels(a.cells), kernels(b.cells)
	other := partners(a.cells, b.cells, inA, inB)
	var out []pair
	for i, cells := range inB {
		var before []int
		if other[i] >= 0 {
			before, inA[other[i]] = inA[other[i]], nil
		}
		out = append(out, pairCells(a.cells, b.cells, before, cells)...)
	}
	for _, cells := range inA {
		out = append(out, pairCells(a.cells, b.cells, cells, nil)...)
	}
	return out
}

// kernels returns the indices of each process's cells. Processes are in the order of their first cells.
func kernels(cells []cell) (all [][]int) {
	at := map[int]int{}
	for i := range cells {
		n, ok := at[cells[i].PID]
		if !ok {
			n = len(all)
			at[cells[i].PID], all = n, append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	return all
}

// partners returns for each kernel of B the kernel of A that ran the most of the same cells; −1 if there is none.
func partners(a, b []cell, inA, inB [][]int) []int {
	out, taken := make([]int, len(inB)), make([]bool, len(inA))
	counts := make([]map[uint64]int, len(inA))
	if len(inA)*len(inB) > 1 {
		for i, cells := range inA {
			counts[i] = map[uint64]int{}
			for _, c := range cells {
				counts[i][a[c].hash]++
			}
		}
	}
	for i, cells := range inB {
		out[i] = -1
		if len(inA) == 1 && len(inB) == 1 {
			out[i] = 0
			break
		}
		most := 0
		for k := range inA[:min(len(inA), maxKernels)] {
			n := 0
			seen := map[uint64]int{}
			for _, c := range cells {
				if seen[b[c].hash]++; seen[b[c].hash] <= counts[k][b[c].hash] {
					n++
				}
			}
			if !taken[k] && n > most {
				most, out[i] = n, k
			}
		}
		if out[i] >= 0 {
			taken[out[i]] = true
		}
	}
	return out
}

// maxKernels bounds the kernels of A that partners considers.
const maxKernels = 64

// pairCells pairs the cells of a kernel: first cells with the same source in the same order, then cells with the same
// source elsewhere (moved), then similar cells at the same place (edited).
func pairCells(a, b []cell, inA, inB []int) []pair {
	ofA, ofB := make([]int, len(inA)), make([]int, len(inB)) // for each cell the partner in the other run; -1 for none
	moved := map[int]bool{}
	for i := range ofA {
		ofA[i] = -1
	}
	for i := range ofB {
		ofB[i] = -1
	}
	for _, m := range align(hashes(a, inA), hashes(b, inB)) {
		ofA[m.a], ofB[m.b] = m.b, m.a
	}
	gone := map[uint64][]int{}
	for i, j := range ofA {
		if j < 0 {
			gone[a[inA[i]].hash] = append(gone[a[inA[i]].hash], i)
		}
	}
	for j, i := range ofB {
		if all := gone[b[inB[j]].hash]; i < 0 && len(all) > 0 {
			ofA[all[0]], ofB[j], moved[j] = j, all[0], true
			gone[b[inB[j]].hash] = all[1:]
		}
	}
	edits := pairSimilar(a, b, inA, inB, ofA, ofB, moved)
	var out []pair
	next := 0
	addGone := func(end int) { // the gone cells of A up to index end
		for ; next < end; next++ {
			if ofA[next] < 0 {
				out = append(out, pair{match{inA[next], -1}, model.Gone})
			}
		}
	}
	for j, i := range ofB {
		switch {
		case i < 0:
			out = append(out, pair{match{-1, inB[j]}, model.New})
			continue
		case moved[j]:
			out = append(out, pair{match{inA[i], inB[j]}, model.Moved})
			continue
		}
		addGone(i)
		change := model.Same
		if edits[j] {
			change = model.Edited
		}
		out = append(out, pair{match{inA[i], inB[j]}, change})
	}
	addGone(len(inA))
	return out
}

// hashes returns the hashes of the cells with the given indices.
func hashes(cells []cell, indices []int) []uint64 {
	out := make([]uint64, len(indices))
	for i, c := range indices {
		out[i] = cells[c].hash
	}
	return out
}

// pairSimilar pairs similar cells among those that are still unpaired between two pairs. It returns which cells of B
// are edited by that.
func pairSimilar(a, b []cell, inA, inB []int, ofA, ofB []int, moved map[int]bool) map[int]bool {
	edits := map[int]bool{}
	next := 0
	for j := 0; j <= len(ofB); j++ {
		if j < len(ofB) && (ofB[j] < 0 || moved[j]) {
			continue
		}
		from, end := next, len(ofA)
		if j < len(ofB) {
			end, next = ofB[j], ofB[j]+1
		}
		var left, right []int
		for i := from; i < end; i++ {
			if ofA[i] < 0 {
				left = append(left, i)
			}
		}
		for k := j - 1; k >= 0 && (ofB[k] < 0 || moved[k]); k-- {
			if ofB[k] < 0 {
				right = append(right, k)
			}
		}
		if len(left) == 0 || len(right) == 0 {
			continue
		}
		slices.Reverse(right)
		for _, m := range matchSimilar(tokensOf(a, inA, left), tokensOf(b, inB, right)) {
			i, k := left[m.a], right[m.b]
			ofA[i], ofB[k], edits[k] = k, i, true
		}
	}
	return edits
}

// tokensOf returns the tokens of the cells with the given indices in a kernel.
func tokensOf(cells []cell, kernel, indices []int) [][]string {
	out := make([][]string, len(indices))
	for i, c := range indices {
		out[i] = tokens(cells[kernel[c]].Source)
	}
	return out
}

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// rounds is the number of random orders of files from which a better one is searched.
const rounds = 100

// up returns the arrows that lead up in the best order of the files that it finds. In a perfect order, each file stands
// above the files that it uses, and no arrow leads up. For the same files it returns the same arrows each time.
func (all uses) up() (best []string) {
	files := all.inCircles()
	random := rand.New(rand.NewPCG(1, 1))
	for round := range rounds {
		order := slices.Clone(files)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for all.improve(order) {
		}
		if up := all.upIn(order); round == 0 || len(up) < len(best) {
			best = up
		}
	}
	return best
}

// inCircles returns the files that use each other in circles. It removes, one after another, files that use no other
// file or that no other file uses: such files stand at the bottom and at the top of any order.
func (all uses) inCircles() []string {
	remaining := map[string]bool{}
	for from, used := range all {
		remaining[from] = true
		for to := range used {
			remaining[to] = true
		}
	}
	for removed := true; removed; {
		removed = false
		for file := range remaining {
			isUser, isUsed := false, false
			for other := range remaining {
				isUser = isUser || all[file][other] != ""
				isUsed = isUsed || all[other][file] != ""
			}
			if !isUser || !isUsed {
				delete(remaining, file)
				removed = true
			}
		}
	}
	return slices.Sorted(maps.Keys(remaining))
}

// improve moves each file to the place at which the fewest of its arrows lead up. It reports whether that has improved
// the order.
func (all uses) improve(order []string) (better bool) {
	for _, file := range slices.Clone(order) {
		at := slices.Index(order, file)
		others := slices.Delete(slices.Clone(order), at, at+1)
		up := 0
		for _, other := range others { // with the file at the top, the arrows of all its users lead up
			if all[other][file] != "" {
				up++
			}
		}
		now, least, place := up, up, 0
		for i, other := range others { // with the file below other
			if all[other][file] != "" {
				up--
			}
			if all[file][other] != "" {
				up++
			}
			if i+1 == at {
				now = up
			}
			if up < least {
				least, place = up, i+1
			}
		}
		if least < now {
			copy(order, slices.Insert(others, place, file))
			better = true
		}
	}
	return better
}

// upIn returns the arrows that lead up in an order.
func (all uses) upIn(order []string) (up []string) {
	for i, from := range order {
		for _, to := range order[:i] {
			if name := all[from][to]; name != "" {
				up = append(up, fmt.Sprintf("%s uses %s of %s", from, name, to))
			}
		}
	}
	return up
}

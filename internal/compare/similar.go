package compare

import (
	"slices"
	"unicode"
)

// leastSimilarity is the similarity from which on a cell counts as the edited version of another.
const leastSimilarity = 0.5

// maxTokens bounds the tokens of a source that are compared.
const maxTokens = 4096

// tokens returns the names, numbers and signs of a source, sorted.
func tokens(source string) []string {
	var all []string
	begin := -1
	for i, r := range source {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		if word && begin < 0 {
			begin = i
		}
		if !word {
			if begin >= 0 {
				all = append(all, source[begin:i])
				begin = -1
			}
			if !unicode.IsSpace(r) {
				all = append(all, string(r))
			}
		}
		if len(all) >= maxTokens {
			break
		}
	}
	if begin >= 0 {
		all = append(all, source[begin:])
	}
	slices.Sort(all)
	return all
}

// similarity returns Dice's coefficient of two sorted lists of tokens: twice the number of common tokens, divided by
// the number of tokens of both; 0 to 1.
func similarity(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common, i, j = common+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

// maxPairs bounds the pairs of cells between two equal ones that matchSimilar compares. In longer stretches it compares
// each cell only with the one at the same place.
const maxPairs = 4096

// matchSimilar pairs gone cells with new cells, in order, such that the sum of the similarities is the largest.
func matchSimilar(a, b [][]string) []match {
	if len(a)*len(b) > maxPairs {
		var out []match
		for i := range min(len(a), len(b)) {
			if similarity(a[i], b[i]) >= leastSimilarity {
				out = append(out, match{i, i})
			}
		}
		return out
	}
	width := len(b) + 1
	best, like := make([]float64, (len(a)+1)*width), make([]float64, len(a)*len(b))
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			best[x*width+y] = max(best[(x+1)*width+y], best[x*width+y+1])
			if s := similarity(a[x], b[y]); s >= leastSimilarity {
				like[x*len(b)+y] = s
				best[x*width+y] = max(best[x*width+y], s+best[(x+1)*width+y+1])
			}
		}
	}
	var out []match
	for x, y := 0, 0; x < len(a) && y < len(b); {
		s := like[x*len(b)+y]
		switch {
		case s > 0 && best[x*width+y] == s+best[(x+1)*width+y+1]:
			out = append(out, match{x, y})
			x, y = x+1, y+1
		case best[x*width+y] == best[(x+1)*width+y]:
			x++
		default:
			y++
		}
	}
	return out
}

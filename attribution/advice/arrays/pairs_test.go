package arrays

import (
	"fmt"
	"strings"
	"testing"

	"ipytracer/model"
)

// points is a first cell with 1,024 points of 10 axes, P, of which all differences take 80 MiB and all distances 8, and
// with 131,072 points of 4 axes, X, and 20 centres, C: 80 MiB and 20.
func points() (ran, []model.Variable) {
	const made = "import numpy as np\nP = np.random.rand(1024, 10)\n" +
		"X = np.random.rand(131_072, 4)\nC = np.random.rand(20, 4)"
	return ran{made, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, makes(3, 4), {4, 0, 0, nil}}}, []model.Variable{
		variable("P", "float64", 1024, 10), variable("X", "float64", 131_072, 4), variable("C", "float64", 20, 4)}
}

const (
	rowsOfP = "d = np.empty((len(P), len(P)))\nfor i in range(len(P)):\n    d[i] = "
	columns = "d = np.empty((len(X), len(C)))\nfor i in range(len(C)):\n    d[:, i] = "
	before  = "distances = np.empty((len(P), len(P)))\nfor i in range(len(P)):\n    distances[i] = "
)

func TestPairwise(t *testing.T) {
	for _, of := range []struct {
		imports, source string
		live, saves     int64
		want            string
	}{
		{"", "d = ((P[:, np.newaxis, :] - P[np.newaxis, :, :]) ** 2).sum(axis=-1)", 168, 159,
			rowsOfP + "((P[i] - P) ** 2).sum(axis=-1)"},
		{"", "d = np.sqrt(np.sum((P[:, None] - P[None]) ** 2, axis=2))  # all", 88, 79,
			strings.Replace(rowsOfP, "\n", "  # all\n", 1) + "np.sqrt(np.sum((P[i] - P) ** 2, axis=1))"},
		{"", "d = np.linalg.norm(X[:, None] - C, axis=2)", 180, 152, columns + "np.linalg.norm(X - C[i], axis=1)"},
		{"", "d = np.linalg.norm(C[None, :, :] - X[:, None, :], axis=2)", 180, 152,
			columns + "np.linalg.norm(C[i] - X, axis=1)"},
		{"", "d = np.abs(P[:, None] - P).sum(2)", 88, 79, rowsOfP + "np.abs(P[i] - P).sum(1)"},
		{"", "near = ((P[:, None] - P) ** 2).sum(-1).argmin(axis=1)", 88, 79,
			before + "((P[i] - P) ** 2).sum(-1)\nnear = distances.argmin(axis=1)\ndel distances"},
		{"from scipy.spatial import distance", "d = ((P[:, None] - P) ** 2).sum(-1)", 88, 80,
			`d = distance.cdist(P, P, "sqeuclidean")`},
		{"from scipy.spatial.distance import cdist as far", "d = np.sqrt(((P[:, None] - P) ** 2).sum(-1))", 88, 80,
			`d = far(P, P, "euclidean")`},
		{"import scipy.stats", "d = np.linalg.norm(X[:, None] - C, axis=-1)", 100, 80,
			"from scipy.spatial.distance import cdist\n" + `d = cdist(X, C, "euclidean")`},
		{"import scipy.stats", "d = abs(P[:, None] - P).sum(axis=2)", 88, 80,
			"from scipy.spatial.distance import cdist\n" + `d = cdist(P, P, "cityblock")`},
		{"import scipy.stats", "d = (np.abs(P[:, None] - P) ** 3).sum(axis=2)", 88, 79,
			rowsOfP + "(np.abs(P[i] - P) ** 3).sum(axis=1)"},
	} {
		t.Run(of.source, func(t *testing.T) {
			first, variables := points()
			n := session(t, variables, first, ran{of.imports, []line{{1, 0, 0, nil}}},
				ran{of.source, []line{peaks(1, of.live, 8)}})
			check(t, n, Pairwise, of.saves, of.want)
		})
	}
}

// TestNotPairwise: expressions that only look like distances of all pairs, and code that cannot be replaced.
func TestNotPairwise(t *testing.T) {
	for _, source := range []string{
		"d = ((P[:, None] - P) ** 2).sum(axis=1)",                                // not the last axis
		"d = ((P[:, None] - P) ** 2).sum(axis=-1, keepdims=True)",                // another shape
		"d = ((P[:, :, None] - P) ** 2).sum(axis=-1)",                            // pairs of columns
		"d = ((P[:, None] - X) ** 2).sum(axis=-1)",                               // of other widths
		"d = ((P[:, None, ::2] - P) ** 2).sum(axis=-1)",                          // a part of the columns
		"d = ((P[:, None] - unknown) ** 2).sum(axis=-1)",                         // of a shape that is not known
		"d = (transform(P[:, None] - P) ** 2).sum(axis=-1)",                      // not elementwise
		"d = [((P[:, None] - P) ** 2).sum(axis=-1) for P in (P, P)]",             // its names are others'
		"d = ((P[:, None] - P) ** 2).sum(axis=-1) if P.any() else 0",             // it may not run
		"d = ((P[:, None] - P) ** 2).sum(-1) + ((P[:, None] - P) ** 2).sum(-1)",  // two of them
		"for k in range(3): d = ((P[:, None] - P) ** 2).sum(axis=-1)",            // two statements on a line
		"d = ((P[:, None] - C) ** 2).sum(axis=-1); e = 1",                        // and here
		"d = ((P[:, None] - P) ** 2).sum(axis=-1, where=(P[:, None] > P[None]))", // a mask
	} {
		first, variables := points()
		check(t, session(t, variables, first, ran{source, []line{peaks(1, 168, 8)}}), "", 0, "")
	}
}

// chain is a cell that computes distances in three statements, with other lines behind the first two.
func chain(more string) ran {
	source := "diff = P[:, np.newaxis, :] - P[np.newaxis, :, :]\nsq = diff ** 2\n" + more + "\nd = sq.sum(-1)\nd.shape"
	live := func(number int, rise int64, made int64) line {
		return line{number, rise, rise, []blocks{{made: made, kept: made, live: made}}}
	}
	return ran{source, []line{live(1, 80, 80), live(2, 80, 80), {3, 0, 0, nil}, live(4, 8, 8), {5, 0, 0, nil}}}
}

func TestPairwiseChain(t *testing.T) {
	for _, of := range []struct{ more, want string }{
		{"diff.shape", "(len(P), len(P), P.shape[1])"},
		{"print(P.mean(), diff.shape)", "print(P.mean(), (len(P), len(P), P.shape[1]))"},
		{"print(diff.mean())", ""},
		{"P[0] = 1", ""},
		{"P = P * 2", ""},
		{"P.sort()", ""},
		{"change(P)", ""},
	} {
		t.Run(of.more, func(t *testing.T) {
			first, variables := points()
			n := session(t, variables, first, chain(of.more))
			if of.want == "" {
				check(t, n, "", 0, "")
				return
			}
			check(t, n, Pairwise, 159, "# diff is not made: it would hold all pairs at once\n"+
				"# sq is not made: it would hold all pairs at once\n"+of.want+"\n"+
				rowsOfP+"((P[i] - P) ** 2).sum(-1)\nd.shape")
		})
	}
}

// TestPairwiseInFunction: a function's intermediate arrays, and centres that it computes itself.
func TestPairwiseInFunction(t *testing.T) {
	const def = "def near(A, k):\n    B = A[pick(k)]\n    "
	const use = "\nlabels = near(X, 20)"
	in := func(number int, made, count int64) blocks {
		return blocks{made: made, live: made, count: count, calls: []call{{"near", number}}}
	}
	sum := func(size int64) blocks {
		return blocks{made: size, live: size, calls: []call{{fmt.Sprint("_sum", size), 3}, {"near", 3}}}
	}
	const sums = "distances = np.empty((len(A), len(B)))\n    for i in range(len(B)):\n" +
		"        distances[:, i] = ((A - B[i]) ** 2).sum(axis=1)\n    return distances.argmin(1)"
	for _, of := range []struct {
		body, want string
		blocks     []blocks
		saves      int64
		line       int
	}{
		{"return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2).argmin(1)",
			sums, []blocks{in(3, 80, 1), sum(20)}, 76, 4},
		{"D = A[:, None] - C\n    return (D ** 2).sum(axis=2).argmin(1)",
			"# D is not made: it would hold all pairs at once\n    distances = np.empty((len(A), len(C)))\n" +
				"    for i in range(len(C)):\n        distances[:, i] = ((A - C[i]) ** 2).sum(axis=1)\n" +
				"    return distances.argmin(1)",
			[]blocks{in(3, 80, 1), in(4, 100, 1)}, 156, 5},
		{"D = A[:, None] - C\n    A[0] = 1\n    return (D ** 2).sum(axis=2).argmin(1)", "",
			[]blocks{in(3, 80, 1), in(5, 100, 1)}, 0, 6},
		{"D = A[:, None] - C\n    return (D ** 2).sum(axis=2) + D.mean()", "",
			[]blocks{in(3, 80, 1), in(4, 100, 1)}, 0, 5},
		{"return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2).argmin(1)", sums,
			[]blocks{in(3, 160, 1), sum(20), sum(40)}, 188, 4},
		{"return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2).argmin(1)", "",
			[]blocks{in(3, 40, 1), sum(20)}, 0, 4},
		{"return ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2).argmin(1)", "",
			[]blocks{in(3, 500, 1), sum(20)}, 0, 4},
	} {
		t.Run(of.body, func(t *testing.T) {
			first, variables := points()
			rise := int64(0)
			for _, b := range of.blocks {
				rise += b.live
			}
			n := session(t, variables, first, ran{def + of.body + use, []line{{1, 0, 0, nil},
				{of.line, rise, 1, of.blocks}}})
			if of.want == "" {
				check(t, n, "", 0, "")
				return
			}
			check(t, n, Pairwise, of.saves, def+of.want+use)
		})
	}
}

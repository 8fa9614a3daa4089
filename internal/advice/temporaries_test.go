package advice

import (
	"strings"
	"testing"

	"ipytracer/model"
)

const mebi = int64(1 << 20) // elements: 8 MiB of float64

// setup is a first cell that makes x and y, 40 MiB each.
var setup = ran{"import numpy as np\nrng = np.random.default_rng(1)\nx = rng.normal(size=5_242_880)\n" +
	"y = rng.normal(size=5_242_880)", []line{{1, 1, 1, nil}, {2, 0, 0, nil}, makes(3, 40), makes(4, 40)}}

func both(more ...model.Variable) []model.Variable {
	return append([]model.Variable{ndarray("x", "float64", 5*mebi), ndarray("y", "float64", 5*mebi)}, more...)
}

// peaks is a statement whose arrays live at its highest moment, and one of whose results stays.
func peaks(number int, live, kept int64) line {
	return line{number, live, kept, []arrayBlocks{{made: live, kept: kept, live: live}}}
}

func TestInPlace(t *testing.T) {
	for _, of := range []struct {
		name, source string
		more         []model.Variable
		before       []ran
		last         line
		saves        int64
		want         string
	}{
		{name: "an array computed anew", source: "x = (x - x.mean()) / x.std()  # scores", last: peaks(1, 80, 40),
			saves: 40, want: "std = x.std()  # scores\nx = x - x.mean()\nx /= std"},
		{name: "from the right", source: "x = 1 / (1 + np.exp(-x))", last: peaks(1, 80, 40), saves: 40,
			want: "x = -x\nnp.exp(x, out=x)\nx += 1\nx = np.divide(1, x, out=x)"},
		{name: "a new array", source: "z = np.exp(-(x - 1) ** 2 / 2)",
			more: []model.Variable{ndarray("z", "float64", 5*mebi)}, last: peaks(1, 80, 40), saves: 40,
			want: "z = x - 1\nz **= 2\nnp.negative(z, out=z)\nz /= 2\nz = np.exp(z, out=z)"},
		{name: "limits", source: "z = np.clip(x - y, 0, 1)",
			more: []model.Variable{ndarray("z", "float64", 5*mebi)}, last: peaks(1, 80, 40),
			saves: 40, want: "z = x - y\nz = np.clip(z, 0, 1, out=z)"},
		{name: "random numbers", source: "z = np.random.standard_normal((640, 8192)).round(4)",
			more: []model.Variable{ndarray("z", "float64", 640, 8192)}, last: peaks(1, 80, 40), saves: 40,
			want: "z = np.random.standard_normal((640, 8192))\nz = np.round(z, 4, out=z)"},
		{name: "a line that is timed", source: "%time z = np.random.standard_normal((640, 2 * 4096)).round(4)",
			more: []model.Variable{ndarray("z", "float64", 640, 8192)}, last: peaks(1, 80, 40), saves: 40,
			want: "%time z = np.random.standard_normal((640, 2 * 4096)); z = np.round(z, 4, out=z)"},
		{name: "random numbers of a size with a name", source: "z = np.exp(rng.random(size=n) - 1)",
			before: []ran{{"n = 5 * 2**20", []line{{1, 0, 0, nil}}}},
			more:   []model.Variable{ndarray("z", "float64", 5*mebi)}, last: peaks(1, 80, 40), saves: 40,
			want: "z = rng.random(size=n)\nz -= 1\nz = np.exp(z, out=z)"},
	} {
		t.Run(of.name, func(t *testing.T) {
			cells := append([]ran{setup}, of.before...)
			n := session(t, both(of.more...), append(cells, ran{of.source, []line{of.last}})...)
			checkArrays(t, n, InPlace, of.saves, of.want)
		})
	}
}

// TestDrawnAtOnce: a generator of random numbers without a name.
func TestDrawnAtOnce(t *testing.T) {
	cell := setup
	cell.source = strings.ReplaceAll(cell.source, "= rng.", "= np.random.default_rng(1).")
	n := session(t, both(), cell, ran{"x = np.exp(x - 1)", []line{peaks(1, 80, 40)}})
	checkArrays(t, n, InPlace, 40, "x = x - 1\nx = np.exp(x, out=x)")
}

// TestNoInPlace: the same expressions where in-place steps would change something else, fail, or save nothing.
func TestNoInPlace(t *testing.T) {
	z := ndarray("z", "float64", 5*mebi)
	alias := func(source string) ran { return ran{source, []line{{1, 0, 0, nil}}} }
	for _, of := range []struct {
		name   string
		before []ran
		more   []model.Variable
		source string
		last   line
	}{
		{name: "in a line that is timed again and again", source: "%timeit -n 3 x = np.exp(x - 1)",
			last: peaks(1, 80, 0)},
		{name: "one operation", source: "x = x * 2", last: peaks(1, 40, 40)},
		{name: "global", before: []ran{alias("def other():\n    global x\n    x = 1")}, source: "x = np.exp(x - 1)",
			last: peaks(1, 80, 40)},
		{name: "the whole array again", source: "x = x * x.max() + x", last: peaks(1, 80, 40)},
		{name: "no temporaries lived", more: []model.Variable{z}, source: "z = np.exp(x - 1)", last: peaks(1, 40, 40)},
		{name: "the sum of two products", more: []model.Variable{z}, source: "z = x * y + y * 2",
			last: peaks(1, 80, 40)},
		{name: "in memory that was free", more: []model.Variable{z}, source: "z = np.exp(x - 1)",
			last: line{1, 1, 1, []arrayBlocks{{made: 80, kept: 40, live: 80}}}},
		{name: "integers", more: []model.Variable{ndarray("k", "int64", 5*mebi), z},
			before: []ran{{"k = rng.integers(0, 9, size=5_242_880)", []line{makes(1, 40)}}},
			source: "z = np.exp(k - 1)", last: peaks(1, 80, 40)},
		{name: "of another size", more: []model.Variable{ndarray("z", "float64", 5*mebi, 2)},
			source: "z = np.exp(x - offsets)", last: peaks(1, 160, 80)},
		{name: "an unknown function", more: []model.Variable{z}, source: "z = np.exp(shifted(x) - 1)",
			last: peaks(1, 80, 40)},
		{name: "random numbers in another order", more: []model.Variable{z},
			source: "z = np.exp(2 - rng.random(5_242_880)) - np.log(1 + rng.random(5_242_880))",
			last:   peaks(1, 120, 40)},
		{name: "numbers that are not those of this run", more: []model.Variable{z},
			before: []ran{alias("n = 1024"), alias("n += 5_241_856")}, source: "z = np.exp(rng.random(n) - 1)",
			last: peaks(1, 80, 40)},
		{name: "one step of a sum", source: "top = np.sqrt(np.abs(x).sum(axis=0))", last: peaks(1, 80, 0)},
		{name: "sums that are half as large", source: "top = np.abs(x - y).sum(axis=1)", last: peaks(1, 70, 20)},
		{name: "two statements on a line", source: "x = np.exp(x - 1); y = 1", last: peaks(1, 80, 40)},
	} {
		t.Run(of.name, func(t *testing.T) {
			cells := append([]ran{setup}, of.before...)
			n := session(t, both(of.more...), append(cells, ran{of.source, []line{of.last}})...)
			checkArrays(t, n, "", 0, "")
		})
	}
}

// TestOtherLinesMayBeAsHigh: other lines of a timed cell, which runs as one statement, may be as high.
func TestOtherLinesMayBeAsHigh(t *testing.T) {
	at := func(number int, made, live int64) arrayBlocks {
		return arrayBlocks{made: made, live: live, count: 2, calls: []call{{"<module>", number}}}
	}
	begin, end := "%%time\nc = np.ones(5_242_880)\nb = ", "\nz = np.max(b + c)"
	source, changed := begin+"np.exp(x - 1)"+end, begin+"x - 1\nnp.exp(b, out=b)"+end
	for _, of := range []struct {
		name   string
		blocks []arrayBlocks
		saves  int64
	}{
		{"the others make little", []arrayBlocks{at(2, 40, 40), at(3, 80, 80), at(4, 4, 0)}, 36},
		{"a later one makes as much", []arrayBlocks{at(2, 40, 40), at(3, 80, 80), at(4, 40, 0)}, 0},
		{"one before made as much", []arrayBlocks{at(2, 120, 40), at(3, 80, 80), at(4, 4, 0)}, 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			b := ndarray("b", "float64", 5*mebi)
			n := session(t, both(b), setup, ran{source, []line{{1, 120, 0, of.blocks}}})
			kind, want := InPlace, changed
			if of.saves == 0 {
				kind, want = "", ""
			}
			checkArrays(t, n, kind, of.saves, want)
		})
	}
}

package arrays

import (
	"strings"
	"testing"
)

func TestNumExpr(t *testing.T) {
	cell := setup
	cell.source = strings.Replace(cell.source, "as np", "as np, numexpr as ne", 1)
	z := variable("z", "float64", 5*million)
	for _, of := range []struct {
		source     string
		live, kept int64
		saves      int64
		want       string
	}{
		{"z = x * y + y * 2", 80, 40, 40, `z = ne.evaluate("x * y + y * 2")`},
		{"z = np.sqrt(x * y) + np.exp(-y) * 2", 120, 40, 80, `z = ne.evaluate("sqrt(x * y) + exp(-y) * 2")`},
		{"s = np.mean((x * y + np.abs(y) * 2) ** 2)", 120, 0, 80,
			`s = np.mean(ne.evaluate("(x * y + abs(y) * 2) ** 2"))`},
		{"print((x * y - y / x).max())", 80, 0, 40, `print((ne.evaluate("x * y - y / x")).max())`},
	} {
		t.Run(of.source, func(t *testing.T) {
			n := session(t, both(z), cell, ran{of.source, []line{peaks(1, of.live, of.kept)}})
			check(t, n, NumExpr, of.saves, of.want)
		})
	}
	// in-place steps save as much, and stay with NumPy
	n := session(t, both(z), cell, ran{"z = np.exp(-(x - 1) ** 2 / 2)", []line{peaks(1, 80, 40)}})
	check(t, n, InPlace, 40, "z = x - 1\nz **= 2\nnp.negative(z, out=z)\nz /= 2\nz = np.exp(z, out=z)")
}

// TestNoNumExpr: expressions that numexpr does not have, or may compute otherwise, and notebooks without it.
func TestNoNumExpr(t *testing.T) {
	z := variable("z", "float64", 5*million)
	for _, of := range []struct{ imports, source string }{
		{"as np", "z = x * y + y * 2"},
		{"as np, numexpr as ne", "z = x * y + y * a[0]"},
		{"as np, numexpr as ne", "z = x * y + y @ y * 2"},
		{"as np, numexpr as ne", "z = x * y + f(y) * 2"},
		{"as np, numexpr as ne", "z = x * y + np.sinc(y * 2)"},
		{"as np, numexpr as ne", "z = x * y + np.exp(y, where=x)"},
		{"as np, numexpr as ne", "z = x * y + y // 2"},
		{"as np, numexpr as ne", "z = x * y + y * (1 / 3)"},
		{"as np, numexpr as ne", "z = [x * y + y * 2 for x in x]"},
		{"as np, numexpr as ne", "z = x * small + small * 2"},
		{"as np, numexpr as ne", "z = x * where + y * 2"},
		{"as np, numexpr as ne", "z = x * y + unknown * 2"},
		{"as np, numexpr as ne", "z = x * y"},
		{"as np, numexpr as ne", "z, w = x * y + y * 2, x * y + y * 3"},
		{"as np, numexpr as ne", "z = x * y + (y\n * 2)"},
	} {
		cell := setup
		cell.source = strings.Replace(cell.source, "as np", of.imports, 1) +
			"\nsmall = rng.normal(size=5_242_880).astype(np.float32)\nwhere = 2.5"
		cell.lines = append(cell.lines[:4:4], makes(5, 20), line{6, 0, 0, nil})
		v := variable("small", "float32", 5*million)
		for _, c := range find(session(t, both(z, v), cell, ran{of.source, []line{peaks(1, 160, 40)}})) {
			if c.Kind == NumExpr {
				t.Errorf("%q: %+v", of.source, c)
			}
		}
	}
}

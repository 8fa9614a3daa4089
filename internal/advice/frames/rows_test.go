package frames

import (
	"testing"

	"ipytracer/model"
)

const pandas = "import pandas as pd\n"

const million = 1 << 20

func eight() model.Variable {
	return frameNamed("table", million, column("a", "float64", 8*million), column("b", "float64", 8*million),
		column("c", "float64", 8*million), column("d", "float64", 8*million))
}

func TestRowByRow(t *testing.T) {
	runs := []run{{1, 2, 32 * mib, 132 * mib, 40 * mib, nil}}
	one(t, session(t, []string{pandas + `table["e"] = table.apply(lambda r: r["a"] * (1 - r["b"]), axis=1)`}, runs,
		eight()), "apply", 84*mib, `table["e"] = table["a"] * (1 - table["b"])`)
	for _, source := range []string{`table["e"] = table.apply(lambda r: f(r["a"]), axis=1)`,
		`table["e"] = table.apply(lambda r: r["a"] if r["b"] else 0, axis=1)`,
		`table["e"] = table.apply(lambda c: c["a"] * 2)`, `table["e"] = table.apply(lambda r: r["a"] + x, axis=1)`} {
		none(t, session(t, []string{pandas + source}, runs, eight()))
	}
}

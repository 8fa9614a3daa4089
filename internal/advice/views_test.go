package advice

import (
	"testing"

	"ipytracer/model"
)

func TestViewKeepsItsBase(t *testing.T) {
	begin := "import numpy as np\nrng = np.random.default_rng(1)\ndata = rng.normal(size=(1_310_720, 8))"
	made := ran{begin, []line{{1, 1, 1, nil}, {2, 0, 0, nil}, makes(3, 80)}}
	view := ndarray("first", "float64", mebi+mebi/4)
	view.ViewBytes, view.BaseBytes = 10*mib, 80*mib
	view.Execution, view.Line = 1, 3
	other := ran{"y = rng.normal(size=5_242_880)", []line{makes(1, 40)}}
	n := session(t, []model.Variable{view}, made,
		ran{"first = data[:, 0]\ndel data", []line{{1, 0, 0, nil}, {2, 0, 0, nil}}}, other)
	checkArrays(t, n, View, 40, "first = data[:, 0].copy()\ndel data")
	n = session(t, []model.Variable{view}, made, ran{"first = data[:, 0]", []line{{1, 0, 0, nil}}}, other)
	checkArrays(t, n, "", 0, "")
}

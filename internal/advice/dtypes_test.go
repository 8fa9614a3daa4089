package advice

import (
	"encoding/json"
	"testing"

	"ipytracer/model"
)

// fitting adds facts about the numbers of an array.
func fitting(v model.Variable, fits string, least, greatest json.Number) model.Variable {
	v.Contents = &model.Contents{Elements: 1, Seen: 1, Fits: fits, Min: least, Max: greatest}
	return v
}

func TestDTypes(t *testing.T) {
	floats := fitting(ndarray("x", "float64", 10*mebi), "float16", "0", "9")
	integers := fitting(ndarray("x", "int64", 10*mebi), "int8", "0", "20")
	for _, of := range []struct {
		name, source, use string
		v                 model.Variable
		saves             int64
		want              string
	}{
		{"zeros", "x = np.zeros(10_485_760)  # counts", "print(x.max())", floats, 40,
			"x = np.zeros(10_485_760, dtype=np.float32)  # counts"},
		{"a conversion", "x = rng.integers(0, 21, size=10_485_760)", "print((x == 3).sum())", integers, 30,
			"x = rng.integers(0, 21, size=10_485_760).astype(np.int8)"},
		{"floats in arithmetic", "x = np.ones(10_485_760)", "print((x * 2).max())", floats, 40,
			"x = np.ones(10_485_760, dtype=np.float32)"},
		{"a sum that is multiplied", "x = np.where(mask, 1, 0)", "print(x.sum() * 1000)", integers, 30,
			"x = np.where(mask, 1, 0).astype(np.int8)"},
		{"integers in arithmetic", "x = np.arange(10_485_760)", "print((x * 1000).sum())", integers, 0, ""},
		{"one element in arithmetic", "x = np.arange(10_485_760)", "print(x[0] * 1000)", integers, 0, ""},
		{"the greatest in arithmetic", "x = np.arange(10_485_760)", "print(x.max() * 1000)", integers, 0, ""},
		{"another name", "x = np.arange(10_485_760)", "y = x", integers, 0, ""},
		{"an index", "x = np.arange(10_485_760)", "print(colors[x].sum())", integers, 0, ""},
		{"the dtype is chosen", "x = np.zeros(10_485_760, dtype=np.float64)", "print(x.max())", floats, 0, ""},
		{"a conversion that is as high", "x = np.zeros(10_485_760, float)", "print(x.max())", floats, 0, ""},
	} {
		t.Run(of.name, func(t *testing.T) {
			kind := Narrow
			if of.want == "" {
				kind = ""
			}
			begin := ran{"import numpy as np\nrng = np.random.default_rng(1)", []line{{1, 1, 1, nil}, {2, 0, 0, nil}}}
			n := session(t, []model.Variable{of.v}, begin, ran{of.source, []line{makes(1, 80)}},
				ran{of.use, []line{peaks(1, 40, 0)}})
			checkArrays(t, n, kind, of.saves, of.want)
		})
	}
}

// TestDTypeOfSample: where not all numbers were looked at, the advice is a guess and says so.
func TestDTypeOfSample(t *testing.T) {
	v := fitting(ndarray("x", "int64", 10*mebi), "int8", "0", "20")
	v.Contents.Elements = 2
	n := session(t, []model.Variable{v}, ran{"import numpy as np\nx = np.arange(10_485_760)", []line{{1, 1, 1, nil},
		makes(2, 80)}}, ran{"plt.hist(x)", []line{peaks(1, 40, 0)}})
	all := arrays(n)
	if len(all) != 1 || all[0].Accuracy != model.SavesGuess || len(all[0].Unknown) != 2 {
		t.Errorf("%+v", all)
	}
}

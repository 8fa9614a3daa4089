package running

import (
	"testing"

	"ipytracer/internal/python/cpython"
)

// TestCellHash compares with the results of ipykernel's get_file_name for these texts.
func TestCellHash(t *testing.T) {
	for text, want := range map[string]uint32{"": 3990065800, "a": 2167009006, "x = 1": 3427300630,
		"größer": 4162232779, "def f(n):\n    return n\n": 1074444535} {
		if got := cellHash(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestCellsBeforeTheAttach(t *testing.T) {
	all := &pastCells{typed: map[uint32]*pastCell{}, compiled: map[compiledName]*pastCell{}}
	for _, one := range []cpython.PastInput{ // the latest first
		{Number: 5, Typed: "x = 1", Compiled: "x = 1"},
		{Number: 4, Typed: "%time y", Compiled: "get_ipython().run_line_magic('time', 'y')"},
		{Number: 3, Typed: "\n\ndef f(n):\n    return n", Compiled: "def f(n):\n    return n"},
		{Number: 2, Typed: "x = 1", Compiled: "x = 1"},
		{Number: 1, Typed: "z"},
	} {
		all.add(&one)
	}
	for file, want := range map[string]struct {
		number, line int32 // where line 1 of the code was typed
	}{
		"/tmp/ipykernel_7/3427300630.py":           {5, 1},
		"/tmp/ipykernel_7/2323370186.py":           {4, 1},
		"/tmp/ipykernel_7/361549576.py":            {3, 3},
		"/tmp/ipykernel_7/3735377656.py":           {3, 3}, // with a newline at the end, which IPython does not keep
		"<ipython-input-5-e139f73e3432>":           {5, 1},
		"<ipython-input-2-e139f73e3432>":           {2, 1},
		"<ipython-input-3-88c7683062d9>":           {3, 3},
		"<ipython-input-1-e139f73e3432>":           {},
		"<ipython-input-5-88c7683062d9>":           {}, // a silent cell, with the next cell's number
		"<ipython-input-99999999999-e139f73e3432>": {}, "<ipython-input--e139f73e3432>": {}, "<ipython-input-5-zz>": {},
		"<ipython-input-5>":     {},
		"/tmp/ipykernel_7/1.py": {}, "/tmp/ipykernel_7/99999999999.py": {}, "/tmp/ipykernel_7/-1.py": {},
		"/home/a/train.py": {}, "": {}, ".py": {}, "<string>": {},
	} {
		c := all.cellOf(file)
		if c == nil {
			c = &pastCell{}
		}
		if got := LineIn(c.lines, 1); c.number != want.number || c.number > 0 && got != want.line {
			t.Errorf("%s: In[%d], line %d, want %+v", file, c.number, got, want)
		}
	}
}

package advice

import (
	"fmt"
	"testing"

	"ipytracer/internal/advice/advicetest"
	"ipytracer/model"
)

// long returns a session of so many cells and statements in each, with an array of each statement that stays.
func long(cells, statements int) *model.Report {
	var all []advicetest.Cell
	n := 0
	for range cells {
		var c advicetest.Cell
		for line := range statements {
			n++
			c.Source += fmt.Sprintf("x%d = pd.concat([np.sqrt(x%d ** 2 + y), model(x%d)]).astype(float)\n",
				n, max(0, n-1), max(0, n-3))
			c.Steps = append(c.Steps, advicetest.Makes(line+1, 2))
		}
		all = append(all, c)
	}
	r := advicetest.Report(nil, all...)
	for i := range r.Windows { // sites that are not listed stand
		r.Windows[i].Coverage["cpu.numpy"] = model.Coverage{Unlisted: 1}
	}
	return r
}

// TestLongSession has more cells than are kept: the list says so, and is made.
func TestLongSession(t *testing.T) {
	a := Make(long(2049, 1), Options{Meter: "cpu.resident"})
	if a.Cells != 2048 || len(a.Unknown) != 2 {
		t.Errorf("%d cells, not considered: %q", a.Cells, a.Unknown)
	}
}

// BenchmarkAdviseLong makes advice for sessions with 512 statements, and with 8,192: the second takes 16 times as long
// if the time grows with the statements.
func BenchmarkAdviseLong(b *testing.B) {
	for _, cells := range []int{64, 1024} {
		r := long(cells, 8)
		b.Run(fmt.Sprint(cells), func(b *testing.B) {
			for b.Loop() {
				Make(r, Options{Meter: "cpu.resident"})
			}
		})
	}
}

// BenchmarkReadAsked reads the longest sessions as they are read while a session goes on.
func BenchmarkReadAsked(b *testing.B) {
	r := long(1024, 8)
	for b.Loop() {
		Read(r, Options{Meter: "cpu.resident", Room: 1 << 18})
	}
}

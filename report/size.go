package report

import (
	"io"

	"ipytracer/model"
)

// sampled is of how many windows an estimate is made, about.
const sampled = 2_000

// counting is a writer that only counts.
type counting int64

func (c *counting) Write(p []byte) (int, error) {
	*c += counting(len(p))
	return len(p), nil
}

// Size is how many bytes a printer will write, about: it prints one window of so many, and none, to nowhere. Of reports with fewer windows than
// a sample has, it is the size to the byte. It is for printers whose output grows with the windows; an error is the printer's.
func Size(r *model.Report, print func(io.Writer, *model.Report) error) (int64, error) {
	windows := 0
	for range r.AllPassing() {
		windows++
	}
	step := uint64(windows/sampled) + 1
	all, err := sizeOf(r, print, step)
	if err != nil || step == 1 {
		return all, err
	}
	none, err := sizeOf(r, print, 0)
	return none + (all-none)*int64(step), err
}

// sizeOf is the size of a report with one window of step, and as much of the rest; with none for 0.
func sizeOf(r *model.Report, print func(io.Writer, *model.Report) error, step uint64) (int64, error) {
	var size counting
	if step != 1 {
		var windows, between picked
		var part model.Track
		r = some(r, func(*model.Window) bool { return windows.is(step) }, func(*model.Between) bool { return between.is(step) }, func(t *model.Track) *model.Track {
			if step == 0 {
				return nil
			}
			part = *t
			part.Points, part.Gaps = t.Points[:uint64(len(t.Points))/step], t.Gaps[:uint64(len(t.Gaps))/step]
			return &part
		})
	}
	err := print(&size, r)
	return int64(size), err
}

// picked picks one of so many at places that look like chance: statements come in runs, of which every n-th could be the same.
type picked struct{ seen uint64 }

func (p *picked) is(step uint64) bool {
	p.seen++
	return step > 0 && p.seen*0x9e3779b97f4a7c15>>32%step == 0
}

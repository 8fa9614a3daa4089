package report

import (
	"io"

	"ipytracer/model"
)

// sampled is the approximate number of windows behind an estimate.
const sampled = 2_000

// counting is a writer that only counts.
type counting int64

func (c *counting) Write(p []byte) (int, error) {
	*c += counting(len(p))
	return len(p), nil
}

// Size returns the approximate number of bytes that a printer will write. It prints a sample of the windows, and then
// none, to nowhere. For a report with fewer windows than the sample, the size is exact. It is for printers with output
// that grows with the windows; an error is the printer's.
func Size(report *model.Report, print func(io.Writer, *model.Report) error) (int64, error) {
	windows := 0
	for range report.AllPassing() {
		windows++
	}
	step := uint64(windows/sampled) + 1
	all, err := sizeOf(report, print, step)
	if err != nil || step == 1 {
		return all, err
	}
	none, err := sizeOf(report, print, 0)
	return none + (all-none)*int64(step), err
}

// sizeOf returns the size of a report with one window of step, and the same share of the rest; with none for 0.
func sizeOf(report *model.Report, print func(io.Writer, *model.Report) error, step uint64) (int64, error) {
	var size counting
	if step != 1 {
		var windows, between picked
		var part model.Track
		report = some(report, func(*model.Window) bool { return windows.is(step) },
			func(*model.Between) bool { return between.is(step) }, func(track *model.Track) *model.Track {
				if step == 0 {
					return nil
				}
				part = *track
				part.Points, part.Gaps = track.Points[:uint64(len(track.Points))/step],
					track.Gaps[:uint64(len(track.Gaps))/step]
				return &part
			})
	}
	err := print(&size, report)
	return int64(size), err
}

// picked chooses one of a number of windows at irregular places: statements come in runs, and every n-th could be the
// same one.
type picked struct{ seen uint64 }

func (p *picked) is(step uint64) bool {
	p.seen++
	return step > 0 && p.seen*0x9e3779b97f4a7c15>>32%step == 0
}

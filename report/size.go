package report

import (
	"io"

	"ipytracer/model"
)

// sampleSize is the approximate number of windows from which [Size] estimates.
const sampleSize = 2_000

// counting is a writer that counts bytes, and drops them.
type counting int64

// Write counts the bytes of p.
func (c *counting) Write(p []byte) (int, error) {
	*c += counting(len(p))
	return len(p), nil
}

// Size returns the approximate number of bytes that a printer will write. It prints a sample of about 2,000 windows,
// and then none, to nowhere. For a report with fewer windows, the size is exact. Use it for printers whose output grows
// with the number of windows. It fails with the printer's error.
func Size(report *model.Report, print func(io.Writer, *model.Report) error) (int64, error) {
	windows := 0
	for range report.AllPassing() {
		windows++
	}
	step := uint64(windows/sampleSize) + 1
	sample, err := sizeOf(report, print, step)
	if err != nil || step == 1 {
		return sample, err
	}
	none, err := sizeOf(report, print, 0)
	return none + (sample-none)*int64(step), err
}

// sizeOf returns the size of a report that has one of step windows, and the same share of the timeline. With a step of
// 0 the report has no windows and no timeline.
func sizeOf(report *model.Report, print func(io.Writer, *model.Report) error, step uint64) (int64, error) {
	var size counting
	if step != 1 {
		report = sampleOf(report, step)
	}
	err := print(&size, report)
	return int64(size), err
}

// sampleOf returns a report with one of step windows, times between cells, and points of the timeline; with none of
// them for a step of 0.
func sampleOf(report *model.Report, step uint64) *model.Report {
	var windows, between sampler
	var part model.Track
	partOf := func(track *model.Track) *model.Track {
		if step == 0 {
			return nil
		}
		part = *track
		part.Points = track.Points[:uint64(len(track.Points))/step]
		part.Gaps = track.Gaps[:uint64(len(track.Gaps))/step]
		return &part
	}
	return some(report, func(*model.Window) bool { return windows.picks(step) },
		func(*model.Between) bool { return between.picks(step) }, partOf)
}

// sampler picks items at irregular intervals. A fixed interval could pick the same statement of a loop again and again.
type sampler struct{ seen uint64 }

// picks reports whether the next item is in the sample. It is true for about one of step items, and never if step is 0.
func (p *sampler) picks(step uint64) bool {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: Fibonacci hashing
	p.seen++
	return step > 0 && p.seen*golden>>32%step == 0
}

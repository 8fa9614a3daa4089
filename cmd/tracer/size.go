package main

import (
	"cmp"
	"fmt"

	"ipytracer/model"
	"ipytracer/model/words"
	"ipytracer/report"
)

// muchToWrite is from how many bytes on a report's size is said before it is written.
const muchToWrite = 20 << 20

// wanted is the report without what flags keep out of the chosen format.
func (o *OutputOptions) wanted(r *model.Report) *model.Report {
	if o.NoSource {
		r = report.WithoutSource(r)
	}
	if f := formatOf(o.Format); f != nil && f.smaller != "" && !f.all && o.Cells > 0 {
		r = report.Heaviest(r, o.Cells, cmp.Or(o.by(r), r.Ranking(r.Nearest())))
	}
	return r
}

// foretell says how large a report will be, and what makes it smaller, if that is much.
func (s *session) foretell(r *model.Report) {
	f := formatOf(s.options.Format)
	if f == nil || f.smaller == "" || s.options.Quiet {
		return
	}
	size, err := report.Size(s.options.wanted(r), f.print)
	if err != nil || size < muchToWrite { // what goes wrong is said of the report itself
		return
	}
	fmt.Fprintf(s.console.err, "tracer: as %s this report will have about %s: %s\n", f.name, words.Bytes(size), f.smaller)
}
